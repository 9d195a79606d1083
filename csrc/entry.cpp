// Entries: built from tuples, checked and run by the dispatcher.
#include "entry.h"

#include "program.h"

namespace tp {

namespace {

PyObject* entry_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"run",    "arguments", "signature", "lifted",
                                "guards", "select",    "check",     nullptr};
  PyObject *run, *arguments, *signature, *lifted, *guards, *select = Py_None, *check = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O!O!O!|OO:Entry", const_cast<char**>(names),
                                   &run, &PyTuple_Type, &arguments, &PyBytes_Type, &signature,
                                   &PyTuple_Type, &lifted, &PyTuple_Type, &guards, &select,
                                   &check)) {
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  EntryObject* e = as_entry(self);
  e->run = Py_NewRef(run);
  e->signature = Py_NewRef(signature);
  e->check = check == Py_None ? nullptr : Py_NewRef(check);
  e->select = select == Py_None ? -1 : PyLong_AsSsize_t(select);
  bool ok = !PyErr_Occurred();
  Py_ssize_t n = PyTuple_GET_SIZE(arguments);
  ok = ok && (e->arguments = allocate<int>(n));
  for (Py_ssize_t i = 0; ok && i < n; ++i) {
    e->arguments[i] = int(PyLong_AsLong(PyTuple_GET_ITEM(arguments, i)));
    if (!PyErr_Occurred() && e->arguments[i] < 0) {
      PyErr_SetString(PyExc_ValueError, "a leaf's number must not be negative");
    }
    ok = !PyErr_Occurred();
    e->argument_count = int(i + 1);
  }
  n = PyTuple_GET_SIZE(lifted);
  ok = ok && (e->lifted = allocate<Place>(n)) && (e->seen = allocate<PyObject*>(n)) &&
       (e->seen_stamps = allocate<uint64_t>(n));
  for (Py_ssize_t i = 0; ok && i < n; ++i) {
    PyObject* spec = PyTuple_GET_ITEM(lifted, i);
    if (!PyTuple_Check(spec) || PyTuple_GET_SIZE(spec) != 3) {
      PyErr_Format(PyExc_ValueError, "a lifted tensor is (place kind, container, key), got %R",
                   spec);
      ok = false;
    } else {
      ok = parse_place(spec, 0, &e->lifted[i]);
    }
    if (ok) e->lifted_count = int(i + 1);
  }
  n = PyTuple_GET_SIZE(guards);
  ok = ok && (e->guards = allocate<Guard>(n));
  for (Py_ssize_t i = 0; ok && i < n; ++i) {
    e->guard_count = int(i + 1);
    ok = parse_guard(PyTuple_GET_ITEM(guards, i), &e->guards[i]);
  }
  if (!ok) Py_CLEAR(self);
  return self;
}

int entry_traverse(PyObject* self, visitproc visit, void* arg) {
  EntryObject* e = as_entry(self);
  Py_VISIT(e->run);
  Py_VISIT(e->check);
  for (int i = 0; i < e->lifted_count; ++i) {
    Py_VISIT(e->lifted[i].container);
    Py_VISIT(e->lifted[i].key);
  }
  for (int i = 0; i < e->guard_count; ++i) {
    Py_VISIT(e->guards[i].place.container);
    Py_VISIT(e->guards[i].place.key);
    Py_VISIT(e->guards[i].expected);
  }
  return 0;
}

int entry_clear(PyObject* self) {
  EntryObject* e = as_entry(self);
  int lifted = e->lifted_count, guards = e->guard_count;
  e->lifted_count = e->guard_count = 0;
  for (int i = 0; i < lifted; ++i) clear_place(&e->lifted[i]);
  for (int i = 0; i < guards; ++i) clear_guard(&e->guards[i]);
  Py_CLEAR(e->run);
  Py_CLEAR(e->check);
  return 0;
}

void entry_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  EntryObject* e = as_entry(self);
  entry_clear(self);
  Py_XDECREF(e->signature);
  PyMem_Free(e->arguments);
  PyMem_Free(e->lifted);
  PyMem_Free(e->guards);
  PyMem_Free(e->seen);
  PyMem_Free(e->seen_stamps);
  Py_TYPE(self)->tp_free(self);
}

PyMemberDef entry_members[] = {
    {"run", T_OBJECT, offsetof(EntryObject, run), READONLY, "what is called with the tensors"},
    {"check", T_OBJECT, offsetof(EntryObject, check), READONLY, "data gates, or None"},
    {"signature", T_OBJECT, offsetof(EntryObject, signature), READONLY,
     "of the leaves and the lifted tensors"},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyTypeObject EntryType = {PyVarObject_HEAD_INIT(nullptr, 0)};

int prepare_entry(const EntryObject* e, PyObject* const* leaves, Py_ssize_t count,
                  Operands* operands) {
  for (int i = 0; i < e->guard_count; ++i) {
    int holds = guard_holds(e->guards[i]);
    if (TP_UNLIKELY(holds != 1)) return holds;
  }
  int total = e->argument_count + e->lifted_count;
  if (total + 1 > int(sizeof(operands->local) / sizeof(operands->local[0]))) {
    operands->at = allocate<PyObject*>(total + 1);
    if (!operands->at) {
      operands->at = operands->local;
      return -1;
    }
  }
  for (int i = 0; i < e->argument_count; ++i) {
    if (e->arguments[i] >= count) return 0;
    operands->at[i] = leaves[e->arguments[i]];
  }
  operands->count = operands->first_lifted = e->argument_count;
  for (int i = 0; i < e->lifted_count; ++i) {
    PyObject* value = place_get(e->lifted[i]);
    if (!value) return 0;
    operands->at[operands->count++] = value;
    if (!is_tensor(value)) return 0;
  }
  return 1;
}

bool lifted_unchanged(const EntryObject* e, const Operands& operands) {
  for (int i = 0; i < e->lifted_count; ++i) {
    PyObject* tensor = operands.at[operands.first_lifted + i];
    if (tensor != e->seen[i] ||
        reinterpret_cast<TensorObject*>(tensor)->stamp != e->seen_stamps[i]) {
      return false;
    }
  }
  return true;
}

void remember_lifted(EntryObject* e, const Operands& operands) {
  for (int i = 0; i < e->lifted_count; ++i) {
    e->seen[i] = operands.at[operands.first_lifted + i];
    e->seen_stamps[i] = reinterpret_cast<TensorObject*>(e->seen[i])->stamp;
  }
}

int ask_check(const EntryObject* e, PyObject* const* leaves, Py_ssize_t count) {
  if (!e->check) return 1;
  PyObject* answer = PyObject_Vectorcall(e->check, leaves, size_t(count), nullptr);
  int truth = answer ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(answer);
  return truth;
}

PyObject* run_entry(EntryObject* e, Operands& operands) {
  if (!e->run) {
    PyErr_SetString(PyExc_RuntimeError, "this compiled function is being destroyed");
    return nullptr;
  }
  PyObject* value = Py_IS_TYPE(e->run, &ProgramType)
                        ? program_run(e->run, operands.at, operands.count)
                        : PyObject_Vectorcall(e->run, operands.at, size_t(operands.count), nullptr);
  if (!value || e->select < 0) return value;
  if (!PyTuple_Check(value) || e->select >= PyTuple_GET_SIZE(value)) {
    PyErr_Format(PyExc_TypeError,
                 "a compiled function's run must return a tuple with item %zd, "
                 "got %R",
                 e->select, value);
    Py_DECREF(value);
    return nullptr;
  }
  PyObject* result = Py_NewRef(PyTuple_GET_ITEM(value, e->select));
  Py_DECREF(value);
  return result;
}

int entry_init(PyObject* module) {
  EntryType.tp_name = "tensorplay._C.Entry";
  EntryType.tp_basicsize = sizeof(EntryObject);
  EntryType.tp_dealloc = entry_dealloc;
  EntryType.tp_traverse = entry_traverse;
  EntryType.tp_clear = entry_clear;
  EntryType.tp_new = entry_new;
  EntryType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  EntryType.tp_members = entry_members;
  EntryType.tp_doc = "One specialization of a compiled function; see tensorplay/_C.pyi.";
  if (PyType_Ready(&EntryType) < 0) return -1;
  return PyModule_AddObjectRef(module, "Entry", reinterpret_cast<PyObject*>(&EntryType));
}

}  // namespace tp
