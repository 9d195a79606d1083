// Frames: what one running call of a Program needs. One is kept between calls; a call that finds it
// taken (another thread, or an extern that re-enters) makes its own.
#include "program_parts.h"

namespace tp {

// Drops what belongs to one call only; `all` also drops what stays between calls.
static void frame_clear(const ProgramObject* p, Frame* frame, bool all) {
  for (int id = 0; id < p->buffer_count; ++id) {
    const Buffer& b = p->buffers[id];
    if (all || !b.stays) Py_CLEAR(frame->array[id]);
  }
}

void frame_free(const ProgramObject* p, Frame* frame) {
  if (!frame) return;
  if (frame->array) frame_clear(p, frame, true);
  Py_XDECREF(frame->arena);
  PyMem_Free(frame->address);
  PyMem_Free(frame->array);
  PyMem_Free(frame->scratch);
  PyMem_Free(frame->stack);
  PyMem_Free(frame);
}

// Sets the addresses of slots and of views of slots and constants.
static bool frame_bind(const ProgramObject* p, Frame* frame) {
  if (p->workspace && !frame->arena) {
    frame->arena = block_new(size_t(p->workspace));
    if (!frame->arena) return false;
  }
  for (int id = p->input_count; id < p->buffer_count; ++id) {
    const Buffer& b = p->buffers[id];
    if (b.kind == Kind::slot) {
      frame->address[id] = frame->arena ? frame->arena->data + b.offset : nullptr;
    } else if (b.kind == Kind::constant) {
      frame->address[id] = PyArray_DATA(as_array(b.constant));
    } else if (b.kind == Kind::view && b.stays) {
      frame->address[id] = static_cast<char*>(frame->address[b.source]) + b.offset;
    }
  }
  return true;
}

Frame* frame_take(ProgramObject* p) {
  Frame* frame = p->idle;
  if (TP_LIKELY(frame != nullptr)) {
    p->idle = nullptr;
    if (TP_LIKELY(!p->workspace || frame->arena)) return frame;
  } else {
    frame = allocate<Frame>(1);
    if (!frame) return nullptr;
    frame->address = allocate<void*>(p->buffer_count);
    frame->array = allocate<PyObject*>(p->buffer_count);
    frame->scratch = allocate<void*>(p->widest);
    frame->stack = allocate<PyObject*>(p->widest + 1);
    if (!frame->address || !frame->array || !frame->scratch || !frame->stack) {
      frame_free(p, frame);
      return nullptr;
    }
  }
  if (!frame_bind(p, frame)) {
    frame_free(p, frame);
    return nullptr;
  }
  return frame;
}

// Whether an extern still holds an array that lies in the arena.
static bool arena_escaped(const ProgramObject* p, const Frame* frame) {
  if (!frame->arena) return false;
  Py_ssize_t expected = 1;
  for (int id = p->input_count; id < p->buffer_count; ++id) {
    if (frame->array[id] && root_of(p, id).kind == Kind::slot) {
      if (Py_REFCNT(frame->array[id]) > 1) return true;
      expected += 1;
    }
  }
  return Py_REFCNT(frame->arena) > expected;
}

void frame_return(ProgramObject* p, Frame* frame, bool ran_extern) {
  frame_clear(p, frame, false);
  if (p->idle || (ran_extern && arena_escaped(p, frame))) {
    frame_free(p, frame);
    return;
  }
  if (frame->arena && frame->arena->nbytes >= kLargeBlock) {
    frame_clear(p, frame, true);
    Py_CLEAR(frame->arena);
  }
  p->idle = frame;
}

PyObject* frame_array(const ProgramObject* p, Frame* frame, int id) {
  PyObject* array = frame->array[id];
  if (array) return array;
  const Buffer& b = p->buffers[id];
  if (b.kind == Kind::constant) return frame->array[id] = Py_NewRef(b.constant);
  // A slot, or a view. Views of slots hold the arena itself, so that its references can be counted.
  bool in_arena = root_of(p, id).kind == Kind::slot;
  PyObject* base =
      in_arena ? reinterpret_cast<PyObject*>(frame->arena) : frame_array(p, frame, b.source);
  if (!base && !in_arena) return nullptr;
  Py_INCREF(b.dtype->descr);
  array =
      PyArray_NewFromDescr(&PyArray_Type, b.dtype->descr, b.ndim, b.shape, b.strides,
                           frame->address[id], NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, nullptr);
  if (!array) return nullptr;
  if (base && PyArray_SetBaseObject(as_array(array), Py_NewRef(base)) < 0) {
    Py_DECREF(array);
    return nullptr;
  }
  if (!in_arena && !PyArray_ISWRITEABLE(as_array(base))) {
    PyArray_CLEARFLAGS(as_array(array), NPY_ARRAY_WRITEABLE);
  }
  return frame->array[id] = array;
}

}  // namespace tp
