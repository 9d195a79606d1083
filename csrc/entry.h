// Entry: one specialization of a compiled function, its guards and its lifted tensors.
#pragma once

#include "guards.h"

namespace tp {

struct EntryObject {
  PyObject_HEAD PyObject* run;
  PyObject* check;      // callable with the leaves, or null: data gates
  PyObject* signature;  // bytes: of leaves and lifted tensors
  int* arguments;       // numbers of the leaves that run gets
  int argument_count;
  Place* lifted;
  int lifted_count;
  Guard* guards;
  int guard_count;
  Py_ssize_t select;  // item of run's value that is the result; -1: the value itself
  // The lifted tensors at the last successful call, to skip their signature.
  PyObject** seen;  // not owned: compared together with the stamp
  uint64_t* seen_stamps;
};
extern PyTypeObject EntryType;

inline EntryObject* as_entry(PyObject* object) { return reinterpret_cast<EntryObject*>(object); }

// The operands of one run: chosen leaves, then lifted tensors (owned).
struct Operands {
  PyObject* local[32];
  PyObject** at = local;
  int count = 0;
  int first_lifted = 0;
  ~Operands() {
    for (int i = first_lifted; i < count; ++i) Py_DECREF(at[i]);
    if (at != local) PyMem_Free(at);
  }
};

// Evaluates guards and fetches lifted tensors. 1: all hold, 0: no, -1: exception.
int prepare_entry(const EntryObject* e, PyObject* const* leaves, Py_ssize_t count,
                  Operands* operands);
// Whether the lifted tensors are those of the last successful call, in the same state.
bool lifted_unchanged(const EntryObject* e, const Operands& operands);
void remember_lifted(EntryObject* e, const Operands& operands);
// Asks the data gates. 1: they hold, 0: no, -1: exception.
int ask_check(const EntryObject* e, PyObject* const* leaves, Py_ssize_t count);
PyObject* run_entry(EntryObject* e, Operands& operands);

}  // namespace tp
