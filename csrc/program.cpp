// Program: the run-time form of a compiled graph, executed with one call.
//
// Built once from plain tuples (tensorplay/_C.pyi gives the format), so that a call makes no Python
// object but its outputs. Measured here: one launch on 8 elements, tensor in, tensor out, 0.3 us.
//
// Buffers are numbered: inputs first, then those of the table. A Frame holds what one running call
// needs: addresses, arrays for externs, and the workspace arena. One frame is kept between calls;
// a call that finds it taken (another thread, or an extern that re-enters) makes its own. Arenas
// of 1 MiB and more go back to the pool after each call, so that programs share them.
#include "program.h"

#include <cstring>

namespace tp {

namespace {

enum class Kind : uint8_t { input, output, slot, constant, view, result };

struct Buffer {
  Kind kind;
  bool has_shape;
  bool has_strides;
  bool stays;  // its address and array stay the same from call to call while the arena stays
  int ndim;
  int source;            // of a view
  npy_intp offset;       // bytes: into the arena, or from the source's first element
  npy_intp span;         // bytes between its lowest and highest address
  npy_intp low;          // bytes from its lowest address to its first element
  const DTypeEntry* dtype;
  npy_intp* shape;       // then strides in bytes, in one allocation
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
  PyObject_HEAD
  vectorcallfunc vectorcall;
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

ProgramObject* as_program(PyObject* self) { return reinterpret_cast<ProgramObject*>(self); }
PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

// ---- building -------------------------------------------------------------------------------

template <typename T>
T* allocate(Py_ssize_t count) {
  auto* memory = static_cast<T*>(PyMem_Calloc(size_t(count > 0 ? count : 1), sizeof(T)));
  if (!memory) PyErr_NoMemory();
  return memory;
}

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

const Buffer& root_of(const ProgramObject* p, int id) {
  const Buffer* b = &p->buffers[id];
  while (b->kind == Kind::view) b = &p->buffers[b->source];
  return *b;
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

PyObject* program_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names);

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"inputs", "buffers", "steps", "outputs", "workspace", "name",
                                nullptr};
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

// ---- frames ---------------------------------------------------------------------------------

// Drops what belongs to one call only; `all` also drops what stays between calls.
void frame_clear(const ProgramObject* p, Frame* frame, bool all) {
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
bool frame_bind(const ProgramObject* p, Frame* frame) {
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
bool arena_escaped(const ProgramObject* p, const Frame* frame) {
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

// The array of a buffer, made when an extern or the outputs ask for it. Borrowed.
PyObject* frame_array(const ProgramObject* p, Frame* frame, int id) {
  PyObject* array = frame->array[id];
  if (array) return array;
  const Buffer& b = p->buffers[id];
  if (b.kind == Kind::constant) return frame->array[id] = Py_NewRef(b.constant);
  // A slot, or a view. Views of slots hold the arena itself, so that its references can be counted.
  bool in_arena = root_of(p, id).kind == Kind::slot;
  PyObject* base = in_arena ? reinterpret_cast<PyObject*>(frame->arena)
                            : frame_array(p, frame, b.source);
  if (!base && !in_arena) return nullptr;
  Py_INCREF(b.dtype->descr);
  array = PyArray_NewFromDescr(&PyArray_Type, b.dtype->descr, b.ndim, b.shape, b.strides,
                               frame->address[id], NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED,
                               nullptr);
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

// ---- running --------------------------------------------------------------------------------

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
  PyObject* found =
      describe(dtype, reinterpret_cast<PyObject*>(PyArray_DESCR(array)), PyArray_NDIM(array),
               PyArray_DIMS(array), PyArray_STRIDES(array));
  if (wanted && found) {
    PyErr_Format(PyExc_ValueError, "Program %R: %s %d must be %U, got %U", p->name, what, index,
                 wanted, found);
  }
  Py_XDECREF(wanted);
  Py_XDECREF(found);
}

bool bind_inputs(const ProgramObject* p, Frame* frame, PyObject* const* tensors,
                 Py_ssize_t count) {
  if (TP_UNLIKELY(count != p->input_count)) {
    PyErr_Format(PyExc_TypeError, "Program %R takes %d tensors, got %zd", p->name, p->input_count,
                 count);
    return false;
  }
  for (int i = 0; i < p->input_count; ++i) {
    PyObject* tensor = tensors[i];
    PyObject* array = TP_LIKELY(is_tensor(tensor)) ? reinterpret_cast<TensorObject*>(tensor)->array
                                                   : nullptr;
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

bool ranges_overlap(PyArrayObject* a, const char* low, const char* high) {
  char *first, *last;
  first = last = PyArray_BYTES(a);
  for (int d = 0; d < PyArray_NDIM(a); ++d) {
    if (PyArray_DIM(a, d) == 0) return false;
    npy_intp reach = (PyArray_DIM(a, d) - 1) * PyArray_STRIDE(a, d);
    (reach < 0 ? first : last) += reach;
  }
  last += PyArray_ITEMSIZE(a);
  return first < high && low < last;
}

// An extern may return a view of something that it was given; a result's memory is its own.
bool shares_memory(const ProgramObject* p, Frame* frame, const Step& step, PyObject* value) {
  if (!PyArray_BASE(as_array(value)) && Py_REFCNT(value) == 1) return false;
  for (int i = 0; i < step.argument_count; ++i) {
    PyObject* argument = frame_array(p, frame, step.arguments[i]);
    char *low, *high;
    low = high = PyArray_BYTES(as_array(argument));
    for (int d = 0; d < PyArray_NDIM(as_array(argument)); ++d) {
      npy_intp reach =
          (PyArray_DIM(as_array(argument), d) - 1) * PyArray_STRIDE(as_array(argument), d);
      (reach < 0 ? low : high) += reach;
    }
    if (ranges_overlap(as_array(value), low, high + PyArray_ITEMSIZE(as_array(argument)))) {
      return true;
    }
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
      ok = accept_result(p, frame, step, step.results[i], Py_NewRef(item(value, i)));
    }
    Py_DECREF(value);
  }
  for (int i = 0; ok && i < step.refresh_count; ++i) {
    const Buffer& view = p->buffers[step.refresh[i]];
    frame->address[step.refresh[i]] =
        static_cast<char*>(frame->address[view.source]) + view.offset;
  }
  return ok;
}

void raise_bounds(const ProgramObject* p, const Step& step, int64_t failure) {
  if (failure > 0 && failure <= PyTuple_GET_SIZE(step.messages)) {
    PyErr_SetObject(PyExc_IndexError, item(step.messages, Py_ssize_t(failure - 1)));
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
