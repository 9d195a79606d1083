// Program: the run-time form of a compiled graph, executed with one call.
//
// Built once from plain tuples (tensorplay/_C.pyi gives the format), so that a call makes no Python
// object but its outputs. Measured here: one launch on 8 elements, tensor in, tensor out, 0.16 us.
//
// Buffers are numbered: inputs first, then those of the table. A Frame holds what one running call
// needs: addresses, arrays for externs, and the workspace arena. One frame is kept between calls;
// a call that finds it taken (another thread, or an extern that re-enters) makes its own. Arenas
// of 1 MiB and more go back to the pool after each call, so that programs share them.
#include "program_parts.h"

namespace tp {

namespace {

bool layout_matches(const Buffer& b, PyArrayObject* array) {
  if (dtype_from_type_num(PyArray_TYPE(array)) != b.dtype) return false;
  if (!b.has_shape) return true;
  if (PyArray_NDIM(array) != b.ndim) return false;
  const npy_intp* shape = PyArray_DIMS(array);
  for (int d = 0; d < b.ndim; ++d) {
    if (shape[d] != b.shape[d]) return false;
  }
  if (!b.has_strides) return true;
  const npy_intp* strides = PyArray_STRIDES(array);
  for (int d = 0; d < b.ndim; ++d) {
    if (strides[d] != b.strides[d] && b.shape[d] > 1 && b.span > 0) return false;
  }
  return true;
}

PyObject* sizes_tuple(int n, const npy_intp* values, npy_intp unit) {
  PyObject* tuple = PyTuple_New(n);
  for (int i = 0; tuple && i < n; ++i) {
    PyTuple_SET_ITEM(tuple, i, PyLong_FromSsize_t(values[i] / unit));
  }
  return tuple;
}

// What a buffer must be, or what an array is, in words.
PyObject* describe(const DTypeEntry* dtype, PyObject* descr, int ndim, const npy_intp* shape,
                   const npy_intp* strides) {
  PyObject* kind = dtype ? dtype->dtype : descr;
  npy_intp unit = dtype && dtype->itemsize ? dtype->itemsize : 1;
  if (!shape) return PyUnicode_FromFormat("%R", kind);
  PyObject* sizes = sizes_tuple(ndim, shape, 1);
  PyObject* text = nullptr;
  if (sizes && strides) {
    PyObject* steps = sizes_tuple(ndim, strides, unit);
    if (steps) text = PyUnicode_FromFormat("%R of shape %R, strides %R", kind, sizes, steps);
    Py_XDECREF(steps);
  } else if (sizes) {
    text = PyUnicode_FromFormat("%R of shape %R", kind, sizes);
  }
  Py_XDECREF(sizes);
  return text;
}

void layout_error(const ProgramObject* p, const char* what, int index, const Buffer& b,
                  PyArrayObject* array) {
  const DTypeEntry* dtype = dtype_from_type_num(PyArray_TYPE(array));
  PyObject* wanted = describe(b.dtype, nullptr, b.ndim, b.has_shape ? b.shape : nullptr,
                              b.has_strides ? b.strides : nullptr);
  PyObject* found = describe(dtype, reinterpret_cast<PyObject*>(PyArray_DESCR(array)),
                             PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array));
  if (wanted && found) {
    PyErr_Format(PyExc_ValueError, "Program %R: %s %d must be %U, got %U", p->name, what, index,
                 wanted, found);
  }
  Py_XDECREF(wanted);
  Py_XDECREF(found);
}

bool bind_inputs(const ProgramObject* p, Frame* frame, PyObject* const* tensors, Py_ssize_t count) {
  if (TP_UNLIKELY(count != p->input_count)) {
    PyErr_Format(PyExc_TypeError, "Program %R takes %d tensors, got %zd", p->name, p->input_count,
                 count);
    return false;
  }
  for (int i = 0; i < p->input_count; ++i) {
    PyObject* tensor = tensors[i];
    PyObject* array =
        TP_LIKELY(is_tensor(tensor)) ? reinterpret_cast<TensorObject*>(tensor)->array : nullptr;
    if (TP_UNLIKELY(!array)) {
      PyErr_Format(PyExc_TypeError, "Program %R: input %d must be a tensor with data, got %.100s",
                   p->name, i, Py_TYPE(tensor)->tp_name);
      return false;
    }
    if (TP_UNLIKELY(!layout_matches(p->buffers[i], as_array(array)))) {
      layout_error(p, "input", i, p->buffers[i], as_array(array));
      return false;
    }
    frame->array[i] = Py_NewRef(array);
    frame->address[i] = PyArray_DATA(as_array(array));
  }
  return true;
}

bool prepare_early(const ProgramObject* p, Frame* frame) {
  for (int i = 0; i < p->early_count; ++i) {
    int id = p->early[i];
    const Buffer& b = p->buffers[id];
    if (b.kind == Kind::view) {
      frame->address[id] = static_cast<char*>(frame->address[b.source]) + b.offset;
      continue;
    }
    PyObject* array = empty_strided_array(b.dtype, b.ndim, b.shape, b.strides);
    if (!array) return false;
    frame->array[id] = array;
    frame->address[id] = PyArray_DATA(as_array(array));
  }
  return true;
}

struct LaunchContext {
  KernelFunction function;
  void* const* buffers;
};

int64_t launch_range(void* context, int64_t begin, int64_t end) {
  auto* launch = static_cast<LaunchContext*>(context);
  return launch->function(launch->buffers, begin, end);
}

// Runs launches from step `s` on; returns the step after the last one that ran. A failure number
// other than 0 belongs to the step before that.
int run_launches(const ProgramObject* p, Frame* frame, int s, int64_t* failure) {
  int end = s;
  bool is_long = false;
  for (; end < p->step_count && p->steps[end].function; ++end) is_long |= p->steps[end].is_long;
  PyThreadState* state = is_long ? PyEval_SaveThread() : nullptr;
  for (; s < end && *failure == 0; ++s) {
    const Step& step = p->steps[s];
    for (int i = 0; i < step.argument_count; ++i) {
      frame->scratch[i] = frame->address[step.arguments[i]];
    }
    if (step.trip <= step.grain) {
      if (step.trip > 0) *failure = step.function(frame->scratch, 0, step.trip);
    } else {
      LaunchContext context = {step.function, frame->scratch};
      *failure = parallel_for(step.trip, step.grain, launch_range, &context);
    }
  }
  if (state) PyEval_RestoreThread(state);
  return s;
}

// An extern may return a view of something that it was given; a result's memory is its own.
bool shares_memory(const ProgramObject* p, Frame* frame, const Step& step, PyObject* value) {
  if (!PyArray_BASE(as_array(value)) && Py_REFCNT(value) == 1) return false;
  Extent extent = extent_of(as_array(value));
  for (int i = 0; i < step.argument_count; ++i) {
    PyObject* argument = frame_array(p, frame, step.arguments[i]);
    if (extent.overlaps(extent_of(as_array(argument)))) return true;
  }
  return false;
}

// Puts what an extern returned into a result buffer. Steals `value`.
bool accept_result(const ProgramObject* p, Frame* frame, const Step& step, int id,
                   PyObject* value) {
  const Buffer& b = p->buffers[id];
  if (!PyArray_Check(value)) {
    PyErr_Format(PyExc_TypeError, "Program %R: the extern %R must return arrays, got %.100s",
                 p->name, step.callee, Py_TYPE(value)->tp_name);
    Py_DECREF(value);
    return false;
  }
  if (!layout_matches(b, as_array(value)) || !PyArray_ISBEHAVED(as_array(value)) ||
      shares_memory(p, frame, step, value)) {
    // Another layout of the same values is copied; another shape or dtype is a mistake.
    Buffer loose = b;
    loose.has_strides = false;
    PyObject* copy = nullptr;
    if (!layout_matches(loose, as_array(value))) {
      layout_error(p, "a result for buffer", id, b, as_array(value));
    } else {
      copy = empty_strided_array(b.dtype, b.ndim, b.shape, b.strides);
      if (copy && PyArray_CopyInto(as_array(copy), as_array(value)) < 0) Py_CLEAR(copy);
    }
    Py_DECREF(value);
    if (!copy) return false;
    value = copy;
  }
  Py_XSETREF(frame->array[id], value);
  frame->address[id] = PyArray_DATA(as_array(value));
  return true;
}

bool run_extern(const ProgramObject* p, Frame* frame, const Step& step) {
  if (TP_UNLIKELY(!step.callee)) {
    PyErr_Format(PyExc_RuntimeError, "Program %R is being destroyed", p->name);
    return false;
  }
  for (int i = 0; i < step.argument_count; ++i) {
    frame->stack[i + 1] = frame_array(p, frame, step.arguments[i]);
    if (!frame->stack[i + 1]) return false;
  }
  PyObject* value =
      PyObject_Vectorcall(step.callee, frame->stack + 1,
                          size_t(step.argument_count) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (!value) return false;
  bool ok = true;
  if (step.result_count == 1 && !PyTuple_Check(value)) {
    ok = accept_result(p, frame, step, step.results[0], value);
  } else if (step.result_count == 0) {
    Py_DECREF(value);
  } else {
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != step.result_count) {
      PyErr_Format(PyExc_TypeError, "Program %R: the extern %R must return %d arrays, got %R",
                   p->name, step.callee, step.result_count, value);
      ok = false;
    }
    for (int i = 0; ok && i < step.result_count; ++i) {
      ok = accept_result(p, frame, step, step.results[i], Py_NewRef(PyTuple_GET_ITEM(value, i)));
    }
    Py_DECREF(value);
  }
  for (int i = 0; ok && i < step.refresh_count; ++i) {
    const Buffer& view = p->buffers[step.refresh[i]];
    frame->address[step.refresh[i]] = static_cast<char*>(frame->address[view.source]) + view.offset;
  }
  return ok;
}

void raise_bounds(const ProgramObject* p, const Step& step, int64_t failure) {
  if (failure > 0 && failure <= PyTuple_GET_SIZE(step.messages)) {
    PyErr_SetObject(PyExc_IndexError, PyTuple_GET_ITEM(step.messages, Py_ssize_t(failure - 1)));
  } else {
    PyErr_Format(PyExc_SystemError, "Program %R: kernel %R returned %lld and has %zd messages",
                 p->name, step.callee, static_cast<long long>(failure),
                 PyTuple_GET_SIZE(step.messages));
  }
}

PyObject* wrap_outputs(const ProgramObject* p, Frame* frame, PyObject* const* tensors) {
  PyObject* outputs = PyTuple_New(p->output_count);
  for (int i = 0; outputs && i < p->output_count; ++i) {
    int id = p->outputs[i];
    const Buffer& b = p->buffers[id];
    PyObject* tensor = nullptr;
    PyObject* array = frame->array[id];
    if (b.kind == Kind::input) {
      tensor = Py_NewRef(tensors[id]);
    } else if (b.kind == Kind::output && Py_REFCNT(array) == 1) {
      tensor = wrap_fresh(array, b.dtype);
    } else if ((array = frame_array(p, frame, id))) {
      if (root_of(p, id).kind == Kind::constant) {
        PyObject* copy = PyArray_NewCopy(as_array(array), NPY_KEEPORDER);
        tensor = copy ? wrap_array(copy) : nullptr;
        Py_XDECREF(copy);
      } else {
        tensor = wrap_array(array);
      }
    }
    if (!tensor) {
      Py_CLEAR(outputs);
      break;
    }
    PyTuple_SET_ITEM(outputs, i, tensor);
  }
  return outputs;
}

// ---- the type -------------------------------------------------------------------------------

int program_traverse(PyObject* self, visitproc visit, void* arg) {
  ProgramObject* p = as_program(self);
  for (int id = 0; p->buffers && id < p->buffer_count; ++id) Py_VISIT(p->buffers[id].constant);
  for (int s = 0; p->steps && s < p->step_count; ++s) Py_VISIT(p->steps[s].callee);
  return 0;
}

int program_clear(PyObject* self) {
  ProgramObject* p = as_program(self);
  // Callables may close over anything; constants are arrays and cannot make a cycle.
  for (int s = 0; p->steps && s < p->step_count; ++s) {
    if (!p->steps[s].function) Py_CLEAR(p->steps[s].callee);
  }
  return 0;
}

void program_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  ProgramObject* p = as_program(self);
  frame_free(p, p->idle);
  for (int id = 0; p->buffers && id < p->buffer_count; ++id) {
    PyMem_Free(p->buffers[id].shape);
    Py_XDECREF(p->buffers[id].constant);
  }
  for (int s = 0; p->steps && s < p->step_count; ++s) {
    Step& step = p->steps[s];
    Py_XDECREF(step.callee);
    Py_XDECREF(step.messages);
    PyMem_Free(step.arguments);
    PyMem_Free(step.results);
    PyMem_Free(step.refresh);
  }
  PyMem_Free(p->buffers);
  PyMem_Free(p->steps);
  PyMem_Free(p->outputs);
  PyMem_Free(p->early);
  Py_XDECREF(p->name);
  Py_TYPE(self)->tp_free(self);
}

PyObject* program_repr(PyObject* self) {
  ProgramObject* p = as_program(self);
  return PyUnicode_FromFormat("<Program %R: %d inputs, %d steps, %d outputs>", p->name,
                              p->input_count, p->step_count, p->output_count);
}

PyMemberDef program_members[] = {
    {"name", T_OBJECT, offsetof(ProgramObject, name), READONLY, "for messages"},
    {"workspace", T_PYSSIZET, offsetof(ProgramObject, workspace), READONLY, "bytes of the arena"},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyObject* program_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf,
                             PyObject* names) {
  Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  if (names && PyTuple_GET_SIZE(names)) {
    PyErr_SetString(PyExc_TypeError, "a Program takes tensors by position only");
    return nullptr;
  }
  // A single list or tuple holds the tensors.
  if (count == 1 && PyTuple_CheckExact(args[0])) {
    return program_run(self, reinterpret_cast<PyTupleObject*>(args[0])->ob_item,
                       PyTuple_GET_SIZE(args[0]));
  }
  if (count == 1 && PyList_CheckExact(args[0])) {
    PyObject* tuple = PyList_AsTuple(args[0]);
    if (!tuple) return nullptr;
    PyObject* outputs = program_run(self, reinterpret_cast<PyTupleObject*>(tuple)->ob_item,
                                    PyTuple_GET_SIZE(tuple));
    Py_DECREF(tuple);
    return outputs;
  }
  return program_run(self, args, count);
}

PyObject* program_run(PyObject* self, PyObject* const* tensors, Py_ssize_t count) {
  ProgramObject* p = as_program(self);
  Frame* frame = frame_take(p);
  if (!frame) return nullptr;
  PyObject* outputs = nullptr;
  bool ran_extern = false;
  bool ok = bind_inputs(p, frame, tensors, count) && prepare_early(p, frame);
  for (int s = 0; ok && s < p->step_count;) {
    if (p->steps[s].function) {
      int64_t failure = 0;
      s = run_launches(p, frame, s, &failure);
      if (TP_UNLIKELY(failure != 0)) {
        raise_bounds(p, p->steps[s - 1], failure);
        ok = false;
      }
    } else {
      ran_extern = true;
      ok = run_extern(p, frame, p->steps[s]);
      s += 1;
    }
  }
  if (ok) outputs = wrap_outputs(p, frame, tensors);
  frame_return(p, frame, ran_extern);
  return outputs;
}

PyTypeObject ProgramType = {PyVarObject_HEAD_INIT(nullptr, 0)};

int program_init(PyObject* module) {
  ProgramType.tp_name = "tensorplay._C.Program";
  ProgramType.tp_basicsize = sizeof(ProgramObject);
  ProgramType.tp_dealloc = program_dealloc;
  ProgramType.tp_traverse = program_traverse;
  ProgramType.tp_clear = program_clear;
  ProgramType.tp_new = program_new;
  ProgramType.tp_repr = program_repr;
  ProgramType.tp_call = PyVectorcall_Call;
  ProgramType.tp_vectorcall_offset = offsetof(ProgramObject, vectorcall);
  ProgramType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  ProgramType.tp_members = program_members;
  ProgramType.tp_doc = "A list of steps executed with one call; see tensorplay/_C.pyi.";
  if (PyType_Ready(&ProgramType) < 0) return -1;
  return PyModule_AddObjectRef(module, "Program", reinterpret_cast<PyObject*>(&ProgramType));
}

}  // namespace tp
