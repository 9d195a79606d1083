// unary(name, array, out=None), binary(name, a, b, out=None) and philox(seed, offset, index): the
// elementary functions of eager tensors, over any strides, with threads for large arrays.
//
// The loops take contiguous blocks. Operands that are not contiguous are gathered into blocks that
// stay in L1, so each function is compiled once for each dtype and instruction set. The set is
// chosen by what the processor has.
#include "elementwise.h"

#include "common.h"

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
constexpr int64_t kBlock = 512;  // elements gathered at a time

// The loop nest of one call: dimensions in the output's memory order, merged where all operands
// allow it. Operand 0 is the output.
struct Nest {
  int operands;
  int ndim;
  npy_intp itemsize;
  npy_intp count;
  npy_intp shape[NPY_MAXDIMS];
  npy_intp strides[3][NPY_MAXDIMS];  // bytes
  char* data[3];
  ElementwiseLoop loop;
};

// Walks one operand in the nest's order.
struct Cursor {
  const Nest* nest;
  int operand;
  char* at;
  npy_intp index[NPY_MAXDIMS];

  Cursor(const Nest& n, int k, int64_t start) : nest(&n), operand(k), at(n.data[k]) {
    for (int d = n.ndim - 1; d >= 0; --d) {
      index[d] = start % n.shape[d];
      start /= n.shape[d];
      at += index[d] * n.strides[k][d];
    }
  }

  // Elements left in the innermost dimension.
  npy_intp run() const {
    return nest->ndim ? nest->shape[nest->ndim - 1] - index[nest->ndim - 1] : 1;
  }
  npy_intp stride() const { return nest->ndim ? nest->strides[operand][nest->ndim - 1] : 0; }

  // Moves on by at most what is left of the run.
  void advance(npy_intp count) {
    int d = nest->ndim - 1;
    if (d < 0) return;
    at += count * nest->strides[operand][d];
    index[d] += count;
    while (d > 0 && index[d] == nest->shape[d]) {
      at -= index[d] * nest->strides[operand][d];
      index[d] = 0;
      d -= 1;
      index[d] += 1;
      at += nest->strides[operand][d];
    }
  }
};

template <class T>
void gather(Cursor* cursor, T* block, npy_intp count) {
  while (count > 0) {
    npy_intp n = std::min(count, cursor->run()), stride = cursor->stride();
    const char* at = cursor->at;
    for (npy_intp i = 0; i < n; ++i) memcpy(block + i, at + i * stride, sizeof(T));
    cursor->advance(n);
    block += n;
    count -= n;
  }
}

template <class T>
void scatter(Cursor* cursor, const T* block, npy_intp count) {
  while (count > 0) {
    npy_intp n = std::min(count, cursor->run()), stride = cursor->stride();
    char* at = cursor->at;
    for (npy_intp i = 0; i < n; ++i) memcpy(at + i * stride, block + i, sizeof(T));
    cursor->advance(n);
    block += n;
    count -= n;
  }
}

template <class T>
int64_t run_nest(void* context, int64_t begin, int64_t end) {
  const Nest& nest = *static_cast<const Nest*>(context);
  alignas(64) T blocks[3][kBlock];
  Cursor out(nest, 0, begin), a(nest, 1, begin), b(nest, nest.operands - 1, begin);
  Cursor* inputs[2] = {&a, &b};
  while (begin < end) {
    // As long a piece as all operands have in place, else a block.
    bool direct_out = out.stride() == npy_intp(sizeof(T));
    bool direct_in = true;
    for (int k = 1; k < nest.operands; ++k)
      direct_in &= inputs[k - 1]->stride() == npy_intp(sizeof(T));
    npy_intp run = out.run();
    npy_intp count = direct_out && direct_in && run >= 64 ? run : kBlock;
    count = std::min<npy_intp>(count, end - begin);
    const void* sources[2] = {nullptr, nullptr};
    for (int k = 1; k < nest.operands; ++k) {
      Cursor* cursor = inputs[k - 1];
      if (cursor->stride() == npy_intp(sizeof(T)) && cursor->run() >= count) {
        sources[k - 1] = cursor->at;
        cursor->advance(count);
      } else {
        gather(cursor, blocks[k], count);
        sources[k - 1] = blocks[k];
      }
    }
    if (direct_out && run >= count) {
      nest.loop(sources[0], sources[1], out.at, count);
      out.advance(count);
    } else {
      nest.loop(sources[0], sources[1], blocks[0], count);
      scatter(&out, blocks[0], count);
    }
    begin += count;
  }
  return 0;
}

// Orders dimensions by the output's strides, outermost first, and merges neighbours.
void arrange(Nest* nest) {
  if (nest->ndim <= 1) return;
  int order[NPY_MAXDIMS], kept = 0;
  for (int d = 0; d < nest->ndim; ++d) {
    if (nest->shape[d] != 1) order[kept++] = d;
  }
  auto reach = [&](int d) { return std::abs(nest->strides[0][d]); };
  for (int i = 1; i < kept; ++i) {
    for (int j = i; j > 0 && reach(order[j]) > reach(order[j - 1]); --j) {
      std::swap(order[j], order[j - 1]);
    }
  }
  Nest from = *nest;
  nest->ndim = 0;
  for (int i = 0; i < kept; ++i) {
    int d = order[i], last = nest->ndim - 1;
    bool merge = last >= 0;
    for (int k = 0; merge && k < nest->operands; ++k) {
      merge = nest->strides[k][last] == from.strides[k][d] * from.shape[d];
    }
    if (!merge) {
      last = nest->ndim++;
      nest->shape[last] = 1;
    }
    nest->shape[last] *= from.shape[d];
    for (int k = 0; k < nest->operands; ++k) nest->strides[k][last] = from.strides[k][d];
  }
}

// Byte strides of the output that NumPy's order 'K' gives for one input: the input's order of
// dimensions, without gaps.
void keep_order(PyArrayObject* input, npy_intp itemsize, npy_intp* strides) {
  int ndim = PyArray_NDIM(input), order[NPY_MAXDIMS];
  for (int d = 0; d < ndim; ++d) order[d] = d;
  auto reach = [&](int d) { return std::abs(PyArray_STRIDE(input, d)); };
  for (int i = 1; i < ndim; ++i) {
    for (int j = i; j > 0; --j) {
      int low = order[j - 1], high = order[j];
      if (PyArray_DIM(input, low) == 1 || PyArray_DIM(input, high) == 1 ||
          reach(high) <= reach(low)) {
        break;
      }
      std::swap(order[j], order[j - 1]);
    }
  }
  npy_intp dense = itemsize;
  for (int i = ndim - 1; i >= 0; --i) {
    strides[order[i]] = dense;
    dense *= std::max<npy_intp>(PyArray_DIM(input, order[i]), 1);
  }
}

bool overlaps_differently(PyArrayObject* out, PyArrayObject* input) {
  bool same = PyArray_DATA(out) == PyArray_DATA(input) && PyArray_NDIM(out) == PyArray_NDIM(input);
  for (int d = 0; same && d < PyArray_NDIM(out); ++d) {
    same = PyArray_DIM(out, d) == PyArray_DIM(input, d) &&
           PyArray_STRIDE(out, d) == PyArray_STRIDE(input, d);
  }
  return !same && extent_of(out).overlaps(extent_of(input));
}

// Broadcasts the inputs' shapes; -1 with an error.
int broadcast(PyArrayObject* const* inputs, int count, npy_intp* shape) {
  int ndim = 0;
  for (int k = 0; k < count; ++k) ndim = std::max(ndim, PyArray_NDIM(inputs[k]));
  for (int d = 0; d < ndim; ++d) {
    shape[d] = 1;
    for (int k = 0; k < count; ++k) {
      int at = d - (ndim - PyArray_NDIM(inputs[k]));
      npy_intp size = at < 0 ? 1 : PyArray_DIM(inputs[k], at);
      if (size == 1 || size == shape[d]) continue;
      if (shape[d] != 1) {
        PyObject* a = PyArray_IntTupleFromIntp(PyArray_NDIM(inputs[0]), PyArray_DIMS(inputs[0]));
        PyObject* b = PyArray_IntTupleFromIntp(PyArray_NDIM(inputs[1]), PyArray_DIMS(inputs[1]));
        if (a && b) PyErr_Format(PyExc_ValueError, "shapes %R and %R do not broadcast", a, b);
        Py_XDECREF(a);
        Py_XDECREF(b);
        return -1;
      }
      shape[d] = size;
    }
  }
  return ndim;
}

void run(Nest* nest) {
  RangeFunction function = nest->itemsize == 4 ? run_nest<float> : run_nest<double>;
  PyThreadState* state = nest->count > kGrain ? PyEval_SaveThread() : nullptr;
  parallel_for(nest->count, kGrain, function, nest);
  if (state) PyEval_RestoreThread(state);
}

// One call: inputs of one float dtype, an optional output. Returns a new reference.
PyObject* apply(const ElementwiseFunction& function, PyArrayObject* const* inputs,
                PyObject* given) {
  int type = PyArray_TYPE(inputs[0]);
  const DTypeEntry* dtype = dtype_from_type_num(type);
  npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  int ndim = broadcast(inputs, function.arity, shape);
  if (ndim < 0) return nullptr;
  PyObject* out = nullptr;
  PyObject* copy_to = nullptr;
  if (given) {
    PyArrayObject* array = as_array(given);
    if (PyArray_TYPE(array) != type || PyArray_NDIM(array) != ndim ||
        !PyArray_CompareLists(PyArray_DIMS(array), shape, ndim) || !PyArray_ISWRITEABLE(array) ||
        PyArray_ISBYTESWAPPED(array)) {
      PyErr_Format(PyExc_ValueError,
                   "%s: out must be writable and have the result's shape and dtype", function.name);
      return nullptr;
    }
    bool overlap = false;
    for (int k = 0; k < function.arity; ++k) overlap |= overlaps_differently(array, inputs[k]);
    if (overlap) {
      copy_to = given;
    } else {
      out = Py_NewRef(given);
    }
  }
  if (!out) {
    // One input of the result's shape gives the order, else C order.
    PyArrayObject* model = nullptr;
    for (int k = 0; k < function.arity && !model; ++k) {
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
  Nest nest;
  nest.operands = function.arity + 1;
  nest.ndim = ndim;
  nest.itemsize = dtype->itemsize;
  nest.count = PyArray_SIZE(as_array(out));
  nest.loop = type == NPY_FLOAT ? function.f32 : function.f64;
  for (int d = 0; d < ndim; ++d) nest.shape[d] = shape[d];
  for (int k = 0; k < nest.operands; ++k) {
    PyArrayObject* array = k ? inputs[k - 1] : as_array(out);
    nest.data[k] = PyArray_BYTES(array);
    for (int d = 0; d < ndim; ++d) {
      int at = d - (ndim - PyArray_NDIM(array));
      nest.strides[k][d] = at < 0 || PyArray_DIM(array, at) == 1 ? 0 : PyArray_STRIDE(array, at);
    }
  }
  if (nest.count > 0) {
    arrange(&nest);
    run(&nest);
  }
  if (copy_to) {
    bool ok = PyArray_CopyInto(as_array(copy_to), as_array(out)) == 0;
    Py_DECREF(out);
    return ok ? Py_NewRef(copy_to) : nullptr;
  }
  return out;
}

PyObject* numbers = nullptr;  // dict: name -> place in the sets' tables, which have one order

const ElementwiseFunction* find_function(PyObject* name, int arity) {
  PyObject* number = PyUnicode_Check(name) ? PyDict_GetItemWithError(numbers, name) : nullptr;
  if (number) {
    const ElementwiseFunction& f = chosen->functions[PyLong_AsLong(number)];
    if (f.arity == arity) return &f;
  }
  PyErr_Format(PyExc_ValueError, "there is no elementary function %R of %d operands", name, arity);
  return nullptr;
}

PyObject* call(PyObject* const* args, Py_ssize_t nargs, int arity) {
  if (nargs < arity + 1 || nargs > arity + 2) {
    PyErr_Format(PyExc_TypeError, "expected a name, %d arrays, and perhaps out", arity);
    return nullptr;
  }
  const ElementwiseFunction* function = find_function(args[0], arity);
  if (!function) return nullptr;
  PyArrayObject* inputs[2] = {nullptr, nullptr};
  for (int k = 0; k < arity; ++k) {
    PyObject* array = args[k + 1];
    if (!PyArray_Check(array)) {
      PyErr_Format(PyExc_TypeError, "%s: expected arrays, got %.100s", function->name,
                   Py_TYPE(array)->tp_name);
      return nullptr;
    }
    inputs[k] = as_array(array);
    int type = PyArray_TYPE(inputs[k]);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || type != PyArray_TYPE(inputs[0]) ||
        PyArray_ISBYTESWAPPED(inputs[k])) {
      PyErr_Format(PyExc_TypeError, "%s: expected arrays of one dtype, float32 or float64, got %R",
                   function->name, PyArray_DESCR(inputs[k]));
      return nullptr;
    }
  }
  PyObject* out = nargs == arity + 2 && args[arity + 1] != Py_None ? args[arity + 1] : nullptr;
  if (out && !PyArray_Check(out)) {
    PyErr_Format(PyExc_TypeError, "%s: out must be an array", function->name);
    return nullptr;
  }
  if (!dtype_from_type_num(PyArray_TYPE(inputs[0]))) {
    PyErr_SetString(PyExc_RuntimeError, "the dtypes are not registered yet");
    return nullptr;
  }
  return apply(*function, inputs, out);
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
  if (!numbers) return -1;
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
