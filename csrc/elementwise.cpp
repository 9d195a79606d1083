// The elementary functions of eager tensors, over any strides, with threads for large arrays:
//
//     unary(name, array, out=None), binary(name, a, b, out=None), philox(seed, offset, index)
//     ElementProgram(dtype, inputs, constants, steps, is_bool)(*arrays, out=None)
//
// A program of several functions runs block by block, and its temporaries stay in L1; one function is a program of one
// step. The loops take contiguous blocks. Operands that are not contiguous are gathered, so each function is compiled
// once for each dtype and instruction set. The set is chosen by what the processor has.
#include "elementwise.h"

#include "common.h"
#include "nest.h"

#include <algorithm>
#include <cstring>

namespace tp {

namespace {

const ElementwiseSet* sets[3];
int set_count = 0;
const ElementwiseSet* chosen = nullptr;

void find_sets() {
  sets[set_count++] = &elementwise_generic();
#if defined(__x86_64__)
  __builtin_cpu_init();
#define TP_HAS(feature) (__builtin_cpu_supports(feature) != 0)
  if (TP_HAS("avx2") && TP_HAS("fma") && TP_HAS("bmi") && TP_HAS("bmi2") && TP_HAS("popcnt")) {
    sets[set_count++] = &elementwise_avx2();
    if (TP_HAS("avx512f") && TP_HAS("avx512bw") && TP_HAS("avx512dq") && TP_HAS("avx512vl") &&
        TP_HAS("avx512cd")) {
      sets[set_count++] = &elementwise_avx512();
    }
  }
#undef TP_HAS
#endif
  chosen = sets[set_count - 1];
}

// Below this many elements a second thread gains less than its wake costs, and the GIL is kept.
constexpr int64_t kGrain = 4096;
constexpr int64_t kBlock = 512;  // elements worked on at a time
constexpr int kMaxArity = 3;
constexpr int kMaxValues = 250;  // of a program: inputs, constants and steps; an operand is a byte

// One function applied to earlier values: inputs, then constants, then the results of earlier steps.
struct Step {
  int function;  // the place in the sets' tables, which have one order
  uint8_t operands[kMaxArity];
  uint8_t slot;  // the scratch block that takes the result
};

// A program; its last step is the result.
struct Code {
  int type_num;  // float32 or float64
  int inputs, constants, steps, slots;
  bool input_is_bool[kMaxInputs];
  bool result_is_bool;
  double* constant;
  Step* step;

  int first_step() const { return inputs + constants; }
};

struct Call {
  Nest nest;
  const Code* code;
};

template <class T>
int64_t run_code(void* context, int64_t begin, int64_t end) {
  const Nest& nest = static_cast<const Call*>(context)->nest;
  const Code& code = *static_cast<const Call*>(context)->code;
  const int inputs = code.inputs, known = code.first_step();
  // Blocks of inputs, of constants, of the slots, and of a result that cannot be written in place.
  T* blocks = reinterpret_cast<T*>(thread_scratch(sizeof(T) * kBlock * size_t(known + code.slots + 1)));
  const void* values[kMaxValues];
  Cursor out, cursors[kMaxInputs];
  out.start(nest, 0, begin);
  const bool direct_out = out.stride() == npy_intp(sizeof(T)) && !nest.is_bool[0];
  // A constant fills one block, so that a function of it works on no longer pieces.
  bool all_direct = direct_out && code.steps == 1 && code.constants == 0;
  bool is_fixed[kMaxInputs];
  const char* filled[kMaxInputs] = {};
  const npy_intp longest = std::min<npy_intp>(kBlock, end - begin);
  for (int k = 0; k < inputs; ++k) {
    cursors[k].start(nest, k + 1, begin);
    is_fixed[k] = cursors[k].is_constant();
    all_direct &= cursors[k].stride() == npy_intp(sizeof(T)) && !nest.is_bool[k + 1];
    if (is_fixed[k]) {
      T* block = blocks + k * kBlock;
      T number;
      if (nest.is_bool[k + 1]) {
        number = *cursors[k].at ? T(1) : T(0);
      } else {
        memcpy(&number, cursors[k].at, sizeof(T));
      }
      std::fill(block, block + longest, number);
      values[k] = block;
    }
  }
  for (int k = 0; k < code.constants; ++k) {
    T* block = blocks + (inputs + k) * kBlock;
    std::fill(block, block + longest, T(code.constant[k]));
    values[inputs + k] = block;
  }
  T* slots = blocks + known * kBlock;
  T* result = slots + code.slots * kBlock;
  while (begin < end) {
    // As long a piece as all operands of a single function have in place; else a block, which ends with the innermost
    // dimension where that is long enough, so that most operands need no copy.
    npy_intp run = out.run();
    npy_intp count = all_direct && run >= 64 ? run : kBlock;
    if (run >= 64) count = std::min(count, run);
    count = std::min<npy_intp>(count, end - begin);
    for (int k = 0; k < inputs; ++k) {
      if (is_fixed[k]) continue;
      Cursor* cursor = &cursors[k];
      const bool is_run = cursor->run() >= count && !nest.is_bool[k + 1];
      if (is_run && cursor->stride() == npy_intp(sizeof(T))) {
        values[k] = cursor->at;
        cursor->advance(count);
      } else if (is_run && cursor->stride() == 0) {
        // One number along the run, such as a channel's or a row's: its block serves all pieces of the run.
        T* block = blocks + k * kBlock;
        if (filled[k] != cursor->at) {
          T number;
          memcpy(&number, cursor->at, sizeof(T));
          std::fill(block, block + std::min(longest, nest.shape[nest.ndim - 1]), number);
          filled[k] = cursor->at;
        }
        values[k] = block;
        cursor->advance(count);
      } else {
        filled[k] = nullptr;
        gather(cursor, blocks + k * kBlock, count);
        values[k] = blocks + k * kBlock;
      }
    }
    const bool in_place = direct_out && run >= count;
    for (int s = 0; s < code.steps; ++s) {
      const Step& step = code.step[s];
      const ElementwiseFunction& function = chosen->functions[step.function];
      void* target = slots + step.slot * kBlock;
      if (s == code.steps - 1) target = in_place ? static_cast<void*>(out.at) : result;
      const void* operands[kMaxArity];
      for (int k = 0; k < function.arity; ++k) operands[k] = values[step.operands[k]];
      (sizeof(T) == 4 ? function.f32 : function.f64)(operands, target, count);
      values[known + s] = target;
    }
    if (in_place) {
      out.advance(count);
    } else {
      scatter(&out, result, count);
    }
    begin += count;
  }
  return 0;
}

void run(Call* call) {
  RangeFunction function = call->code->type_num == NPY_FLOAT ? run_code<float> : run_code<double>;
  const int64_t count = call->nest.count;
  // The grain is of cheap steps: many of them are worth a second thread sooner.
  const int64_t grain = std::max<int64_t>(kBlock, kGrain / call->code->steps);
  PyThreadState* state = count > grain ? PyEval_SaveThread() : nullptr;
  parallel_for(count, grain, function, call);
  if (state) PyEval_RestoreThread(state);
}

// One call: inputs of the code's dtypes, an optional output. Returns a new reference.
PyObject* apply(const Code& code, PyArrayObject* const* inputs, PyObject* given, const char* name) {
  const int type = code.result_is_bool ? int(NPY_BOOL) : code.type_num;
  const DTypeEntry* dtype = dtype_from_type_num(type);
  if (!dtype) {
    PyErr_SetString(PyExc_RuntimeError, "the dtypes are not registered yet");
    return nullptr;
  }
  npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  int ndim = broadcast(inputs, code.inputs, shape);
  if (ndim < 0) return nullptr;
  PyObject* out = nullptr;
  PyObject* copy_to = nullptr;
  if (given) {
    PyArrayObject* array = as_array(given);
    // The inputs broadcast to the output's shape.
    const int extra = PyArray_NDIM(array) - ndim;
    bool fits = PyArray_TYPE(array) == type && PyArray_ISWRITEABLE(array) &&
                !PyArray_ISBYTESWAPPED(array);
    for (int d = 0; d < ndim; ++d) {
      fits &= shape[d] == 1 || (d + extra >= 0 && shape[d] == PyArray_DIM(array, d + extra));
    }
    if (!fits) {
      PyErr_Format(PyExc_ValueError,
                   "%s: out must be writable and have the result's shape and dtype", name);
      return nullptr;
    }
    ndim = PyArray_NDIM(array);
    std::copy(PyArray_DIMS(array), PyArray_DIMS(array) + ndim, shape);
    bool overlap = false;
    for (int k = 0; k < code.inputs; ++k) overlap |= overlaps_differently(array, inputs[k]);
    if (overlap) {
      copy_to = given;
    } else {
      out = Py_NewRef(given);
    }
  }
  if (!out) {
    // One input of the result's shape gives the order, else C order.
    PyArrayObject* model = nullptr;
    for (int k = 0; k < code.inputs && !model; ++k) {
      if (PyArray_NDIM(inputs[k]) == ndim &&
          PyArray_CompareLists(PyArray_DIMS(inputs[k]), shape, ndim)) {
        model = inputs[k];
      }
    }
    if (model && !PyArray_IS_C_CONTIGUOUS(model)) {
      keep_order(model, dtype->itemsize, strides);
      out = empty_strided_array(dtype, ndim, shape, strides);
    } else {
      out = empty_array(dtype, ndim, shape);
    }
    if (!out) return nullptr;
  }
  Call call;
  Nest& nest = call.nest;
  call.code = &code;
  nest.operands = code.inputs + 1;
  nest.ndim = ndim;
  nest.count = PyArray_SIZE(as_array(out));
  for (int d = 0; d < ndim; ++d) nest.shape[d] = shape[d];
  for (int k = 0; k < nest.operands; ++k) {
    PyArrayObject* array = k ? inputs[k - 1] : as_array(out);
    nest.data[k] = PyArray_BYTES(array);
    nest.is_bool[k] = k ? code.input_is_bool[k - 1] : code.result_is_bool;
    for (int d = 0; d < ndim; ++d) {
      int at = d - (ndim - PyArray_NDIM(array));
      nest.strides[k][d] = at < 0 || PyArray_DIM(array, at) == 1 ? 0 : PyArray_STRIDE(array, at);
    }
  }
  if (nest.count > 0) {
    arrange(&nest);
    run(&call);
  }
  if (copy_to) {
    bool ok = PyArray_CopyInto(as_array(copy_to), as_array(out)) == 0;
    Py_DECREF(out);
    return ok ? Py_NewRef(copy_to) : nullptr;
  }
  return out;
}

// Fills `arrays` with the arguments if they are arrays of a code's dtypes.
bool take_inputs(const Code& code, PyObject* const* args, PyArrayObject** arrays, const char* name) {
  for (int k = 0; k < code.inputs; ++k) {
    if (!PyArray_Check(args[k])) {
      PyErr_Format(PyExc_TypeError, "%s: expected arrays, got %.100s", name,
                   Py_TYPE(args[k])->tp_name);
      return false;
    }
    arrays[k] = as_array(args[k]);
    const int wanted = code.input_is_bool[k] ? int(NPY_BOOL) : code.type_num;
    if (PyArray_TYPE(arrays[k]) != wanted || PyArray_ISBYTESWAPPED(arrays[k])) {
      const char* expected = wanted == NPY_BOOL ? "bool" : wanted == NPY_FLOAT ? "float32" : "float64";
      PyErr_Format(PyExc_TypeError, "%s: expected %s for operand %d, got %R", name, expected, k,
                   PyArray_DESCR(arrays[k]));
      return false;
    }
  }
  return true;
}

PyObject* numbers = nullptr;  // dict: name -> place in the sets' tables

int find_function(PyObject* name, int arity) {
  PyObject* number = PyUnicode_Check(name) ? PyDict_GetItemWithError(numbers, name) : nullptr;
  if (number) {
    int place = int(PyLong_AsLong(number));
    if (chosen->functions[place].arity == arity) return place;
  }
  if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_ValueError, "there is no elementary function %R of %d operands", name, arity);
  }
  return -1;
}

PyObject* call(PyObject* const* args, Py_ssize_t nargs, int arity) {
  if (nargs < arity + 1 || nargs > arity + 2) {
    PyErr_Format(PyExc_TypeError, "expected a name, %d arrays, and perhaps out", arity);
    return nullptr;
  }
  Step step = {find_function(args[0], arity), {0, 1}, 0};
  if (step.function < 0) return nullptr;
  const char* name = chosen->functions[step.function].name;
  int type = PyArray_Check(args[1]) ? PyArray_TYPE(as_array(args[1])) : int(NPY_FLOAT);
  if (type != NPY_FLOAT && type != NPY_DOUBLE) {
    PyErr_Format(PyExc_TypeError, "%s: expected arrays of one dtype, float32 or float64, got %R",
                 name, PyArray_DESCR(as_array(args[1])));
    return nullptr;
  }
  Code code = {type, arity, 0, 1, 0, {}, false, nullptr, &step};
  PyArrayObject* inputs[kMaxArity];
  if (!take_inputs(code, args + 1, inputs, name)) return nullptr;
  PyObject* out = nargs == arity + 2 && args[arity + 1] != Py_None ? args[arity + 1] : nullptr;
  if (out && !PyArray_Check(out)) {
    PyErr_Format(PyExc_TypeError, "%s: out must be an array", name);
    return nullptr;
  }
  return apply(code, inputs, out, name);
}

// ---- ElementProgram ---------------------------------------------------------------------------

struct ElementProgramObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Code code;
};

ElementProgramObject* as_program(PyObject* self) {
  return reinterpret_cast<ElementProgramObject*>(self);
}

PyObject* program_call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const Code& code = as_program(self)->code;
  const Py_ssize_t nargs = PyVectorcall_NARGS(flags);
  const bool has_out = nargs == code.inputs + 1;
  if ((nargs != code.inputs && !has_out) || (names && PyTuple_GET_SIZE(names))) {
    PyErr_Format(PyExc_TypeError, "expected %d arrays, and perhaps out", code.inputs);
    return nullptr;
  }
  PyArrayObject* inputs[kMaxInputs];
  if (!take_inputs(code, args, inputs, "ElementProgram")) return nullptr;
  PyObject* out = has_out && args[code.inputs] != Py_None ? args[code.inputs] : nullptr;
  if (out && !PyArray_Check(out)) {
    PyErr_SetString(PyExc_TypeError, "ElementProgram: out must be an array");
    return nullptr;
  }
  return apply(code, inputs, out, "ElementProgram");
}

// Reads one step (name, operand, ...); false with an error.
bool parse_step(PyObject* item, int known, Step* step) {
  Py_ssize_t size = PyTuple_Check(item) ? PyTuple_GET_SIZE(item) : 0;
  if (size < 2 || size > kMaxArity + 1) {
    PyErr_SetString(PyExc_TypeError, "a step is a name and one to three operands");
    return false;
  }
  step->function = find_function(PyTuple_GET_ITEM(item, 0), int(size) - 1);
  if (step->function < 0) return false;
  for (Py_ssize_t k = 1; k < size; ++k) {
    long place = PyLong_AsLong(PyTuple_GET_ITEM(item, k));
    if (place < 0 || place >= known) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "an operand comes after its use");
      return false;
    }
    step->operands[k - 1] = uint8_t(place);
  }
  return true;
}

// Gives every step a scratch block, which is free again after its last use.
void assign_slots(Code* code) {
  int last_use[kMaxValues], free_slots[kMaxValues], free_count = 0;
  const int known = code->first_step();
  for (int s = 0; s < code->steps; ++s) {
    last_use[s] = s;
    const Step& step = code->step[s];
    for (int k = 0; k < chosen->functions[step.function].arity; ++k) {
      if (step.operands[k] >= known) last_use[step.operands[k] - known] = s;
    }
  }
  for (int s = 0; s < code->steps; ++s) {
    code->step[s].slot = uint8_t(free_count ? free_slots[--free_count] : code->slots++);
    for (int earlier = 0; earlier <= s; ++earlier) {
      if (last_use[earlier] == s) free_slots[free_count++] = code->step[earlier].slot;
    }
  }
}

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "inputs", "constants", "steps", "is_bool", nullptr};
  PyArray_Descr* dtype = nullptr;
  const char* kinds;
  Py_ssize_t inputs;
  PyObject *constants, *steps;
  int is_bool;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&s#O!O!p:ElementProgram",
                                   const_cast<char**>(names), PyArray_DescrConverter, &dtype, &kinds,
                                   &inputs, &PyTuple_Type, &constants, &PyTuple_Type, &steps,
                                   &is_bool)) {
    return nullptr;
  }
  const int type_num = dtype->type_num;
  Py_DECREF(dtype);
  const Py_ssize_t constant_count = PyTuple_GET_SIZE(constants), count = PyTuple_GET_SIZE(steps);
  if ((type_num != NPY_FLOAT && type_num != NPY_DOUBLE) || inputs < 1 || inputs > kMaxInputs ||
      count < 1 || inputs + constant_count + count > kMaxValues) {
    PyErr_SetString(PyExc_ValueError, "ElementProgram: not a float program, or too large");
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  as_program(self)->vectorcall = program_call;
  Code& code = as_program(self)->code;
  code = {type_num, int(inputs), int(constant_count), int(count), 0, {}, bool(is_bool), nullptr,
          nullptr};
  code.constant = allocate<double>(constant_count);
  code.step = allocate<Step>(count);
  bool ok = code.constant && code.step;
  for (Py_ssize_t k = 0; ok && k < inputs; ++k) code.input_is_bool[k] = kinds[k] == '?';
  for (Py_ssize_t k = 0; ok && k < constant_count; ++k) {
    code.constant[k] = PyFloat_AsDouble(PyTuple_GET_ITEM(constants, k));
    ok = !PyErr_Occurred();
  }
  for (Py_ssize_t k = 0; ok && k < count; ++k) {
    ok = parse_step(PyTuple_GET_ITEM(steps, k), code.first_step() + int(k), &code.step[k]);
  }
  if (!ok) {
    Py_DECREF(self);
    return nullptr;
  }
  assign_slots(&code);
  return self;
}

void program_dealloc(PyObject* self) {
  PyMem_Free(as_program(self)->code.constant);
  PyMem_Free(as_program(self)->code.step);
  Py_TYPE(self)->tp_free(self);
}

PyTypeObject ElementProgramType = {PyVarObject_HEAD_INIT(nullptr, 0)};

int element_program_init(PyObject* module) {
  PyTypeObject& type = ElementProgramType;
  type.tp_name = "tensorplay._C.ElementProgram";
  type.tp_doc = "A scalar program over float arrays; see _C.pyi.";
  type.tp_basicsize = sizeof(ElementProgramObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_vectorcall_offset = offsetof(ElementProgramObject, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_new = program_new;
  type.tp_dealloc = program_dealloc;
  if (PyType_Ready(&type) < 0) return -1;
  return PyModule_AddObjectRef(module, "ElementProgram", reinterpret_cast<PyObject*>(&type));
}

// ---- Philox ---------------------------------------------------------------------------------

struct PhiloxCall {
  uint64_t seed, offset;
  const int64_t* index;
  uint64_t* out;
};

int64_t run_philox(void* context, int64_t begin, int64_t end) {
  auto* c = static_cast<const PhiloxCall*>(context);
  chosen->philox(c->seed, c->offset, c->index + begin, c->out + begin, end - begin);
  return 0;
}

bool word_of(PyObject* object, uint64_t* word) {
  if (PyArray_Check(object) && PyArray_SIZE(as_array(object)) == 1 &&
      (PyArray_TYPE(as_array(object)) == NPY_INT64 ||
       PyArray_TYPE(as_array(object)) == NPY_UINT64)) {
    memcpy(word, PyArray_DATA(as_array(object)), sizeof(*word));
    return true;
  }
  PyObject* number = PyNumber_Index(object);
  if (!number) return false;
  *word = PyLong_AsUnsignedLongLongMask(number);
  Py_DECREF(number);
  return !PyErr_Occurred();
}

}  // namespace

const ElementwiseSet& elementwise_chosen() { return *chosen; }

PyObject* unary(PyObject*, PyObject* const* args, Py_ssize_t nargs) { return call(args, nargs, 1); }
PyObject* binary(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return call(args, nargs, 2);
}

// philox(seed, offset, index) -> uint64 array of index's shape
PyObject* philox_bits(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  PhiloxCall c;
  if (nargs != 3 || !word_of(args[0], &c.seed) || !word_of(args[1], &c.offset)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "philox(seed, offset, index)");
    return nullptr;
  }
  PyObject* index = PyArray_FROM_OTF(args[2], NPY_INT64, NPY_ARRAY_CARRAY_RO);
  if (!index) return nullptr;
  PyArrayObject* array = as_array(index);
  const DTypeEntry* dtype = dtype_from_type_num(NPY_UINT64);
  PyObject* out = dtype ? empty_array(dtype, PyArray_NDIM(array), PyArray_DIMS(array))
                        : PyArray_SimpleNew(PyArray_NDIM(array), PyArray_DIMS(array), NPY_UINT64);
  if (out) {
    c.index = static_cast<const int64_t*>(PyArray_DATA(array));
    c.out = static_cast<uint64_t*>(PyArray_DATA(as_array(out)));
    int64_t count = PyArray_SIZE(array);
    PyThreadState* state = count > kGrain ? PyEval_SaveThread() : nullptr;
    parallel_for(count, kGrain, run_philox, &c);
    if (state) PyEval_RestoreThread(state);
  }
  Py_DECREF(index);
  return out;
}

// elementwise_isa(name=None) -> str: chooses the instruction set (tests compare them), says which.
PyObject* elementwise_isa(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs == 1 && args[0] != Py_None) {
    const ElementwiseSet* found = nullptr;
    for (int i = 0; i < set_count && PyUnicode_Check(args[0]); ++i) {
      if (PyUnicode_CompareWithASCIIString(args[0], sets[i]->isa) == 0) found = sets[i];
    }
    if (!found) {
      PyErr_Format(PyExc_ValueError, "this machine or build has no instruction set %R", args[0]);
      return nullptr;
    }
    chosen = found;
  }
  return PyUnicode_FromString(chosen->isa);
}

int elementwise_init(PyObject* module) {
  find_sets();
  numbers = PyDict_New();
  for (int i = 0; numbers && i < chosen->count; ++i) {
    PyObject* number = PyLong_FromLong(i);
    if (!number || PyDict_SetItemString(numbers, chosen->functions[i].name, number) < 0) return -1;
    Py_DECREF(number);
  }
  if (!numbers || element_program_init(module) < 0 ||
      PyModule_AddIntConstant(module, "ELEMENT_INPUTS", kMaxInputs) < 0 ||
      PyModule_AddIntConstant(module, "ELEMENT_VALUES", kMaxValues) < 0) {
    return -1;
  }
  PyObject* arities = PyDict_New();
  for (int i = 0; arities && i < chosen->count; ++i) {
    PyObject* arity = PyLong_FromLong(chosen->functions[i].arity);
    if (!arity || PyDict_SetItemString(arities, chosen->functions[i].name, arity) < 0) return -1;
    Py_DECREF(arity);
  }
  if (!arities || PyModule_AddObjectRef(module, "ELEMENT_FUNCTIONS", arities) < 0) return -1;
  Py_DECREF(arities);
  PyObject* names = PyTuple_New(set_count);
  for (int i = 0; names && i < set_count; ++i) {
    PyTuple_SET_ITEM(names, i, PyUnicode_FromString(sets[i]->isa));
  }
  if (!names) return -1;
  int error = PyModule_AddObjectRef(module, "ELEMENTWISE_ISAS", names);
  Py_DECREF(names);
  return error;
}

}  // namespace tp
