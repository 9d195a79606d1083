// Building a Program: the plain tuples of tensorplay/_C.pyi, checked once.
#include "program_parts.h"

#include <cstring>

namespace tp {

namespace {

bool bad(const ProgramObject* program, const char* what, PyObject* spec) {
  if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_ValueError, "Program %R: %s, got %R", program->name, what, spec);
  }
  return false;
}

// Fills the layout from a shape (None: any) and strides in elements (None: any).
bool set_layout(const ProgramObject* program, Buffer* b, PyObject* code, PyObject* shape,
                PyObject* strides, PyObject* spec) {
  b->dtype = dtype_from_object(code);
  if (!b->dtype) return false;
  b->has_shape = shape != Py_None;
  b->has_strides = strides != Py_None;
  if (!b->has_shape) {
    return b->has_strides ? bad(program, "strides need a shape", spec) : true;
  }
  npy_intp sizes[NPY_MAXDIMS], steps[NPY_MAXDIMS];
  b->ndim = parse_sizes(shape, sizes, "shape");
  if (b->ndim < 0) return false;
  b->shape = allocate<npy_intp>(2 * b->ndim);
  if (!b->shape) return false;
  b->strides = b->shape + b->ndim;
  if (b->has_strides && parse_sizes(strides, steps, "strides") != b->ndim) {
    return bad(program, "shape and strides must have one length", spec);
  }
  npy_intp high = 0;
  bool is_empty = false;
  for (int d = 0; d < b->ndim; ++d) {
    if (sizes[d] < 0) return bad(program, "sizes must not be negative", spec);
    b->shape[d] = sizes[d];
    is_empty |= sizes[d] == 0;
    if (!b->has_strides) continue;
    b->strides[d] = steps[d] * b->dtype->itemsize;
    npy_intp reach = (sizes[d] - 1) * b->strides[d];
    (reach < 0 ? b->low : high) += reach < 0 ? -reach : reach;
  }
  b->span = is_empty ? 0 : b->low + high + b->dtype->itemsize;
  if (is_empty) b->low = 0;
  return true;
}

PyObject* item(PyObject* tuple, Py_ssize_t i) { return PyTuple_GET_ITEM(tuple, i); }

bool parse_input(const ProgramObject* program, Buffer* b, PyObject* spec) {
  b->kind = Kind::input;
  if (!PyTuple_Check(spec) || PyTuple_GET_SIZE(spec) != 3) {
    return bad(program, "an input is (code, shape or None, strides or None)", spec);
  }
  return set_layout(program, b, item(spec, 0), item(spec, 1), item(spec, 2), spec);
}

bool parse_constant(const ProgramObject* program, Buffer* b, PyObject* value) {
  b->kind = Kind::constant;
  b->stays = true;
  PyObject* array = is_tensor(value) ? reinterpret_cast<TensorObject*>(value)->array : value;
  if (!array || !PyArray_Check(array)) {
    return bad(program, "a constant is an array or a tensor with data", value);
  }
  b->constant = Py_NewRef(array);
  b->dtype = dtype_from_type_num(PyArray_TYPE(as_array(array)));
  b->ndim = PyArray_NDIM(as_array(array));
  b->span = PyArray_NBYTES(as_array(array));
  return b->dtype ? true : bad(program, "a constant's dtype must be registered", value);
}

bool parse_buffer(ProgramObject* program, int id, PyObject* spec) {
  Buffer* b = &program->buffers[id];
  if (!PyTuple_Check(spec) || PyTuple_GET_SIZE(spec) < 2 || !PyUnicode_Check(item(spec, 0))) {
    return bad(program, "a buffer is a tuple that begins with its kind", spec);
  }
  const char* kind = PyUnicode_AsUTF8(item(spec, 0));
  Py_ssize_t n = PyTuple_GET_SIZE(spec);
  auto is = [&](const char* name, Py_ssize_t length) {
    return strcmp(kind, name) == 0 && n == length;
  };
  if (is("constant", 2)) return parse_constant(program, b, item(spec, 1));
  Py_ssize_t layout = n - 3;  // the last three items
  if (is("output", 4)) {
    b->kind = Kind::output;
  } else if (is("result", 4)) {
    b->kind = Kind::result;
  } else if (is("slot", 5)) {
    b->kind = Kind::slot;
    b->stays = true;
    b->offset = PyLong_AsSsize_t(item(spec, 1));
  } else if (is("view", 6)) {
    b->kind = Kind::view;
    b->source = int(PyLong_AsLong(item(spec, 1)));
    b->offset = PyLong_AsSsize_t(item(spec, 2));
  } else {
    return bad(program,
               "a buffer is ('output', code, shape, strides), ('slot', byte_offset, code, shape, "
               "strides), ('view', source, element_offset, code, shape, strides), ('result', code, "
               "shape, strides) or ('constant', array)",
               spec);
  }
  if (PyErr_Occurred()) return false;
  if (!set_layout(program, b, item(spec, layout), item(spec, layout + 1), item(spec, layout + 2),
                  spec)) {
    return false;
  }
  if (!b->has_strides) return bad(program, "a buffer needs its shape and strides", spec);
  if (b->kind == Kind::slot &&
      (b->offset < b->low || b->offset - b->low + b->span > program->workspace)) {
    return bad(program, "a slot must lie within the workspace", spec);
  }
  if (b->kind == Kind::view) {
    if (b->source < 0 || b->source >= id) return bad(program, "a view's source comes first", spec);
    const Buffer& source = program->buffers[b->source];
    b->offset *= b->dtype->itemsize;
    b->stays = source.stays;
    if (source.has_strides && b->span > 0 &&
        (source.low + b->offset < b->low ||
         source.low + b->offset - b->low + b->span > source.span)) {
      return bad(program, "a view must lie within its source", spec);
    }
  }
  return true;
}

int* parse_ids(const ProgramObject* program, PyObject* tuple, int* count) {
  *count = PyTuple_Check(tuple) ? int(PyTuple_GET_SIZE(tuple)) : -1;
  if (*count < 0) {
    bad(program, "expected a tuple of buffer numbers", tuple);
    return nullptr;
  }
  int* ids = allocate<int>(*count);
  for (int i = 0; ids && i < *count; ++i) {
    ids[i] = int(PyLong_AsLong(item(tuple, i)));
    if (PyErr_Occurred() || ids[i] < 0 || ids[i] >= program->buffer_count) {
      bad(program, "a buffer number is out of range", tuple);
      PyMem_Free(ids);
      return nullptr;
    }
  }
  return ids;
}

bool parse_launch(ProgramObject* program, Step* step, PyObject* spec) {
  PyObject* kernel = item(spec, 1);
  PyObject* messages = item(spec, 5);
  if (!PyObject_TypeCheck(kernel, &KernelType) || !PyTuple_Check(messages)) {
    return bad(program, "a launch is ('launch', kernel, buffers, trip, grain, messages)", spec);
  }
  step->function = reinterpret_cast<KernelObject*>(kernel)->function;
  step->callee = Py_NewRef(kernel);
  step->messages = Py_NewRef(messages);
  step->arguments = parse_ids(program, item(spec, 2), &step->argument_count);
  if (!step->arguments) return false;
  step->trip = PyLong_AsLongLong(item(spec, 3));
  step->grain = PyLong_AsLongLong(item(spec, 4));
  if (PyErr_Occurred()) return false;
  npy_intp bytes = 0;
  for (int i = 0; i < step->argument_count; ++i) {
    const Buffer& b = program->buffers[step->arguments[i]];
    bytes += b.has_shape || b.kind == Kind::constant ? b.span : kShortBytes;
  }
  step->is_long = bytes >= kShortBytes;
  return true;
}

bool parse_extern(ProgramObject* program, Step* step, PyObject* spec) {
  if (!PyCallable_Check(item(spec, 1))) {
    return bad(program, "an extern is ('extern', callable, arguments, results)", spec);
  }
  step->callee = Py_NewRef(item(spec, 1));
  step->arguments = parse_ids(program, item(spec, 2), &step->argument_count);
  if (!step->arguments) return false;
  step->results = parse_ids(program, item(spec, 3), &step->result_count);
  if (!step->results) return false;
  for (int i = 0; i < step->result_count; ++i) {
    if (program->buffers[step->results[i]].kind != Kind::result) {
      return bad(program, "an extern's results must be 'result' buffers", spec);
    }
  }
  return true;
}

bool parse_step(ProgramObject* program, Step* step, PyObject* spec) {
  bool ok = false;
  if (PyTuple_Check(spec) && PyTuple_GET_SIZE(spec) > 0 && PyUnicode_Check(item(spec, 0))) {
    const char* kind = PyUnicode_AsUTF8(item(spec, 0));
    if (strcmp(kind, "launch") == 0 && PyTuple_GET_SIZE(spec) == 6) {
      ok = parse_launch(program, step, spec);
    } else if (strcmp(kind, "extern") == 0 && PyTuple_GET_SIZE(spec) == 4) {
      ok = parse_extern(program, step, spec);
    }
  }
  if (!ok) return bad(program, "a step is a 'launch' or an 'extern' tuple", spec);
  if (step->argument_count > program->widest) program->widest = step->argument_count;
  return true;
}

// Decides when each view's address becomes known, and checks that what a step or the outputs read
// has been made by then.
bool order_buffers(ProgramObject* program) {
  int n = program->buffer_count;
  // filled_by[id]: the step after which the buffer's address is known; -1 means from the start.
  int* filled_by = allocate<int>(n);
  program->early = allocate<int>(n);
  if (!filled_by || !program->early) {
    PyMem_Free(filled_by);
    return false;
  }
  for (int id = 0; id < n; ++id) {
    filled_by[id] = program->buffers[id].kind == Kind::result ? program->step_count : -1;
  }
  for (int s = 0; s < program->step_count; ++s) {
    for (int i = 0; i < program->steps[s].result_count; ++i) {
      filled_by[program->steps[s].results[i]] = s;
    }
  }
  bool ok = true;
  for (int id = 0; id < n; ++id) {
    const Buffer& b = program->buffers[id];
    if (b.kind == Kind::view) filled_by[id] = filled_by[b.source];
    if (b.kind == Kind::output || (b.kind == Kind::view && !b.stays && filled_by[id] < 0)) {
      program->early[program->early_count++] = id;
    }
  }
  for (int s = 0; s < program->step_count && ok; ++s) {
    Step& step = program->steps[s];
    for (int i = 0; i < step.argument_count && ok; ++i) {
      ok = filled_by[step.arguments[i]] < s;
    }
    if (step.result_count) {
      step.refresh = allocate<int>(n);
      if (!step.refresh) {
        ok = false;
        break;
      }
      for (int id = 0; id < n; ++id) {
        if (program->buffers[id].kind == Kind::view && filled_by[id] == s) {
          step.refresh[step.refresh_count++] = id;
        }
      }
    }
  }
  for (int i = 0; i < program->output_count && ok; ++i) {
    int id = program->outputs[i];
    ok = filled_by[id] < program->step_count && root_of(program, id).kind != Kind::slot;
  }
  PyMem_Free(filled_by);
  if (!ok && !PyErr_Occurred()) {
    PyErr_Format(PyExc_ValueError,
                 "Program %R: a result is read before its extern fills it, or a workspace slot is "
                 "an output",
                 program->name);
  }
  return ok;
}

}  // namespace

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"inputs",    "buffers", "steps", "outputs",
                                "workspace", "name",    nullptr};
  PyObject *inputs, *buffers, *steps, *outputs, *name = nullptr;
  Py_ssize_t workspace = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!O!|nU:Program", const_cast<char**>(names),
                                   &PyTuple_Type, &inputs, &PyTuple_Type, &buffers, &PyTuple_Type,
                                   &steps, &PyTuple_Type, &outputs, &workspace, &name)) {
    return nullptr;
  }
  auto* p = as_program(type->tp_alloc(type, 0));
  if (!p) return nullptr;
  p->vectorcall = program_vectorcall;
  p->name = name ? Py_NewRef(name) : PyUnicode_FromString("program");
  p->workspace = workspace;
  p->input_count = int(PyTuple_GET_SIZE(inputs));
  int total = p->input_count + int(PyTuple_GET_SIZE(buffers));
  bool ok = p->name && workspace >= 0 && (p->buffers = allocate<Buffer>(total));
  for (int id = 0; ok && id < total; ++id) {
    p->buffer_count = id + 1;
    ok = id < p->input_count ? parse_input(p, &p->buffers[id], item(inputs, id))
                             : parse_buffer(p, id, item(buffers, id - p->input_count));
  }
  p->buffer_count = ok ? total : p->buffer_count;
  ok = ok && (p->steps = allocate<Step>(PyTuple_GET_SIZE(steps)));
  for (int s = 0; ok && s < PyTuple_GET_SIZE(steps); ++s) {
    p->step_count = s + 1;
    ok = parse_step(p, &p->steps[s], item(steps, s));
  }
  ok = ok && (p->outputs = parse_ids(p, outputs, &p->output_count));
  ok = ok && order_buffers(p);
  if (!ok) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "workspace must not be negative");
    Py_DECREF(p);
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(p);
}

}  // namespace tp
