// The parts of a Program, shared by the files that build it, keep its frames and run it.
#pragma once

#include "program.h"

namespace tp {

enum class Kind : uint8_t { input, output, slot, constant, view, result };

struct Buffer {
  Kind kind;
  bool has_shape;
  bool has_strides;
  bool stays;  // its address and array stay the same from call to call while the arena stays
  int ndim;
  int source;       // of a view
  npy_intp offset;  // bytes: into the arena, or from the source's first element
  npy_intp span;    // bytes between its lowest and highest address
  npy_intp low;     // bytes from its lowest address to its first element
  const DTypeEntry* dtype;
  npy_intp* shape;  // then strides in bytes, in one allocation
  npy_intp* strides;
  PyObject* constant;
};

struct Step {
  KernelFunction function;  // null for an extern
  PyObject* callee;         // the Kernel or the callable
  PyObject* messages;       // tuple of the bounds checks' messages
  int* arguments;
  int argument_count;
  int* results;  // of an extern: buffers that its return value fills
  int result_count;
  int* refresh;  // views whose address is known only after this extern
  int refresh_count;
  int64_t trip;
  int64_t grain;
  bool is_long;  // worth releasing the GIL for
};

struct Frame {
  void** address;
  PyObject** array;
  void** scratch;
  PyObject** stack;
  BlockObject* arena;
};

struct ProgramObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* name;
  Buffer* buffers;
  int buffer_count;
  int input_count;
  Step* steps;
  int step_count;
  int* outputs;
  int output_count;
  int* early;  // buffers to prepare at the start: outputs, and views of what is known by then
  int early_count;
  int widest;  // most arguments of a step
  npy_intp workspace;
  Frame* idle;
};

// Kernels that touch fewer bytes than this keep the GIL: releasing and taking it costs 50 ns or,
// when other threads wait for it, a wait of up to 5 ms.
constexpr npy_intp kShortBytes = 16 << 10;

inline ProgramObject* as_program(PyObject* self) { return reinterpret_cast<ProgramObject*>(self); }

// The buffer at the end of a chain of views.
inline const Buffer& root_of(const ProgramObject* p, int id) {
  const Buffer* b = &p->buffers[id];
  while (b->kind == Kind::view) b = &p->buffers[b->source];
  return *b;
}

// ---- program_build.cpp ----------------------------------------------------------------------

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);

// ---- program_frame.cpp ----------------------------------------------------------------------

// A frame for one running call, or null with an exception.
Frame* frame_take(ProgramObject* p);
// Ends the call: drops what belongs to it and keeps the frame for the next one.
void frame_return(ProgramObject* p, Frame* frame, bool ran_extern);
void frame_free(const ProgramObject* p, Frame* frame);
// The array of a buffer, made when an extern or the outputs ask for it. Borrowed.
PyObject* frame_array(const ProgramObject* p, Frame* frame, int id);

// ---- program.cpp ----------------------------------------------------------------------------

PyObject* program_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names);

}  // namespace tp
