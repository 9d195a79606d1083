// merge(name, source, out, independent): element by element, out[i] = out[i] op source[i], where `out` may lie on itself.
//
// With strided views this is what windows need: a copy out of overlapping windows (im2col), a sum into them (col2im), a
// maximum over them (`out` has stride 0 along the window). Indices are visited in row-major order; the first
// `independent` dimensions, along which the elements of `out` are distinct, are divided among threads, so the
// bits do not depend on the number of threads.
#include "common.h"

#include <algorithm>
#include <cstring>

namespace tp {

namespace {

constexpr int kOperands = 4;
constexpr int64_t kGrain = 1 << 14;  // elements that are worth a thread

// A loop nest over operands of one shape; strides in bytes.
struct Nest {
  int operands = 0;
  int ndim = 0;
  int independent = 0;
  npy_intp shape[NPY_MAXDIMS];
  npy_intp stride[kOperands][NPY_MAXDIMS];
  char* data[kOperands];
  Aligned read[kOperands];  // keeps copies
  void (*row)(char* const* at, const npy_intp* step, npy_intp count) = nullptr;
};

// Merges dimensions that are one in memory, on either side of the border, so that rows are long.
void coalesce(Nest* nest) {
  int kept = 0, independent = 0;
  for (int d = 0; d < nest->ndim; ++d) {
    bool joins = kept > 0 && d != nest->independent;
    for (int k = 0; joins && k < nest->operands; ++k) {
      joins = nest->stride[k][kept - 1] == nest->stride[k][d] * nest->shape[d];
    }
    if (joins) {
      nest->shape[kept - 1] *= nest->shape[d];
    } else {
      nest->shape[kept++] = nest->shape[d];
    }
    for (int k = 0; k < nest->operands; ++k) nest->stride[k][kept - 1] = nest->stride[k][d];
    if (d < nest->independent) independent = kept;
  }
  nest->ndim = kept;
  nest->independent = independent;
}

int64_t run_range(void* context, int64_t begin, int64_t end) {
  const Nest& nest = *static_cast<const Nest*>(context);
  int outer = nest.ndim - 1;
  npy_intp rows = 1, index[NPY_MAXDIMS] = {};
  for (int d = nest.independent; d < outer; ++d) rows *= nest.shape[d];
  char* at[kOperands];
  std::copy_n(nest.data, kOperands, at);
  for (int64_t rest = begin, d = nest.independent - 1; d >= 0; --d) {
    index[d] = rest % nest.shape[d];
    rest /= nest.shape[d];
    for (int k = 0; k < nest.operands; ++k) at[k] += index[d] * nest.stride[k][d];
  }
  npy_intp step[kOperands];
  for (int k = 0; k < nest.operands; ++k) step[k] = nest.stride[k][outer];
  for (int64_t left = (end - begin) * rows; left > 0; --left) {
    nest.row(at, step, nest.shape[outer]);
    for (int d = outer - 1; d >= 0; --d) {
      if (++index[d] < nest.shape[d]) {
        for (int k = 0; k < nest.operands; ++k) at[k] += nest.stride[k][d];
        break;
      }
      index[d] = 0;
      for (int k = 0; k < nest.operands; ++k) at[k] -= nest.stride[k][d] * (nest.shape[d] - 1);
    }
  }
  return 0;
}

void run(Nest* nest) {
  npy_intp size = 1, count = 1;
  for (int d = 0; d < nest->ndim; ++d) size *= nest->shape[d];
  if (size == 0) return;
  coalesce(nest);
  nest->independent = std::min(nest->independent, nest->ndim - 1);
  for (int d = 0; d < nest->independent; ++d) count *= nest->shape[d];
  Py_BEGIN_ALLOW_THREADS;
  parallel_for(count, std::max<int64_t>(1, kGrain / (size / count)), run_range, nest);
  Py_END_ALLOW_THREADS;
}

// ---- rows -----------------------------------------------------------------------------------

template <typename T>
void copy_row(char* const* at, const npy_intp* step, npy_intp count) {
  constexpr npy_intp size = sizeof(T);
  if (step[0] == size && step[1] == size) {
    std::memcpy(at[1], at[0], size_t(count) * sizeof(T));
    return;
  }
  const char* from = at[0];
  char* to = at[1];
  for (npy_intp i = 0; i < count; ++i, from += step[0], to += step[1]) {
    *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
  }
}

struct Wide {
  uint64_t parts[2];
};

template <typename T>
struct Add {
  static T merge(T a, T b) { return T(a + b); }
};

// NaN wins; of equal values the one that is there stays.
template <typename T>
struct Maximum {
  static T merge(T a, T b) { return (b > a || b != b) ? b : a; }
};

template <typename T, typename Op>
void merge_row(char* const* at, const npy_intp* step, npy_intp count) {
  constexpr npy_intp size = sizeof(T);
  if (step[1] == size && (step[0] == size || step[0] == 2 * size)) {
    const T* __restrict from = reinterpret_cast<const T*>(at[0]);
    T* __restrict to = reinterpret_cast<T*>(at[1]);
    if (step[0] == size) {
      for (npy_intp i = 0; i < count; ++i) to[i] = Op::merge(to[i], from[i]);
    } else {
      for (npy_intp i = 0; i < count; ++i) to[i] = Op::merge(to[i], from[2 * i]);
    }
    return;
  }
  const char* from = at[0];
  char* to = at[1];
  for (npy_intp i = 0; i < count; ++i, from += step[0], to += step[1]) {
    T* place = reinterpret_cast<T*>(to);
    *place = Op::merge(*place, *reinterpret_cast<const T*>(from));
  }
}

// Operands: values, their numbers, the greatest values, the numbers of those.
template <typename T>
void number_row(char* const* at, const npy_intp* step, npy_intp count) {
  constexpr npy_intp size = sizeof(T);
  bool is_plain = step[1] == 0 && step[2] == size && step[3] == npy_intp(sizeof(int32_t));
  if (is_plain && (step[0] == size || step[0] == 2 * size)) {
    const T* __restrict from = reinterpret_cast<const T*>(at[0]);
    int32_t number = *reinterpret_cast<const int32_t*>(at[1]);
    T* __restrict best = reinterpret_cast<T*>(at[2]);
    int32_t* __restrict found = reinterpret_cast<int32_t*>(at[3]);
    npy_intp stride = step[0] / size;
    auto run = [&](npy_intp jump) {
      for (npy_intp i = 0; i < count; ++i) {
        T value = from[i * jump], old = best[i];
        bool better = (value > old) | ((value != value) & (old == old));
        best[i] = better ? value : old;
        found[i] = better ? number : found[i];
      }
    };
    stride == 1 ? run(1) : run(2);
    return;
  }
  char* p[kOperands];
  std::copy_n(at, kOperands, p);
  for (npy_intp i = 0; i < count; ++i) {
    T value = *reinterpret_cast<const T*>(p[0]);
    T* best = reinterpret_cast<T*>(p[2]);
    if (value > *best || (value != value && *best == *best)) {
      *best = value;
      *reinterpret_cast<int32_t*>(p[3]) = *reinterpret_cast<const int32_t*>(p[1]);
    }
    for (int k = 0; k < kOperands; ++k) p[k] += step[k];
  }
}

// Operands: values, their places, the memory that they are added to, from its first element.
template <typename T>
void add_at_row(char* const* at, const npy_intp* step, npy_intp count) {
  char* p[kOperands];
  std::copy_n(at, kOperands, p);
  for (npy_intp i = 0; i < count; ++i) {
    T* place = reinterpret_cast<T*>(p[2]) + *reinterpret_cast<const int64_t*>(p[1]);
    *place = T(*place + *reinterpret_cast<const T*>(p[0]));
    for (int k = 0; k < 3; ++k) p[k] += step[k];
  }
}

using Row = void (*)(char* const*, const npy_intp*, npy_intp);

Row copy_for(npy_intp itemsize) {
  switch (itemsize) {
    case 1: return copy_row<uint8_t>;
    case 2: return copy_row<uint16_t>;
    case 4: return copy_row<uint32_t>;
    case 8: return copy_row<uint64_t>;
    case 16: return copy_row<Wide>;
    default: return nullptr;
  }
}

template <template <typename> class Rows>
Row row_for(int type) {
  switch (type) {
    case NPY_FLOAT: return Rows<float>::row;
    case NPY_DOUBLE: return Rows<double>::row;
    case NPY_INT8: return Rows<int8_t>::row;
    case NPY_INT16: return Rows<int16_t>::row;
    case NPY_INT32: return Rows<int32_t>::row;
    case NPY_INT64: return Rows<int64_t>::row;
    case NPY_UINT8: return Rows<uint8_t>::row;
    case NPY_UINT16: return Rows<uint16_t>::row;
    case NPY_UINT32: return Rows<uint32_t>::row;
    case NPY_UINT64: return Rows<uint64_t>::row;
    default: return nullptr;
  }
}

template <typename T>
struct AddRows {
  static constexpr Row row = merge_row<T, Add<T>>;
};
template <typename T>
struct MaximumRows {
  static constexpr Row row = merge_row<T, Maximum<T>>;
};
template <typename T>
struct NumberRows {
  static constexpr Row row = number_row<T>;
};
template <typename T>
struct AddAtRows {
  static constexpr Row row = add_at_row<T>;
};

// ---- arguments ------------------------------------------------------------------------------

// Adds an operand of the first one's shape; false with an error.
bool add_operand(Nest* nest, PyObject* object, bool written) {
  if (!PyArray_Check(object)) {
    PyErr_Format(PyExc_TypeError, "merge takes NumPy arrays, got %.100s",
                 Py_TYPE(object)->tp_name);
    return false;
  }
  if (!written) {
    Aligned aligned(object);
    object = aligned.get();
    if (!object) return false;
    nest->read[nest->operands] = std::move(aligned);
  }
  PyArrayObject* array = as_array(object);
  if (nest->operands == 0) {
    nest->ndim = PyArray_NDIM(array);
    std::copy_n(PyArray_DIMS(array), nest->ndim, nest->shape);
  }
  if (PyArray_NDIM(array) != nest->ndim ||
      !PyArray_CompareLists(PyArray_DIMS(array), nest->shape, nest->ndim)) {
    PyErr_SetString(PyExc_ValueError, "merge: the arrays must have one shape");
    return false;
  }
  if (!PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array) ||
      (written && !PyArray_ISWRITEABLE(array))) {
    PyErr_SetString(PyExc_ValueError,
                    "merge: arrays must be aligned, in native byte order, the output writable");
    return false;
  }
  std::copy_n(PyArray_STRIDES(array), nest->ndim, nest->stride[nest->operands]);
  nest->data[nest->operands++] = PyArray_BYTES(array);
  return true;
}

// Reads `independent`, and makes a scalar a row of one.
bool finish(Nest* nest, PyObject* independent) {
  npy_intp count = PyNumber_AsSsize_t(independent, PyExc_OverflowError);
  if (count == -1 && PyErr_Occurred()) return false;
  if (count < 0 || count > nest->ndim) {
    PyErr_Format(PyExc_ValueError, "merge: independent is 0 to %d, got %zd", nest->ndim, count);
    return false;
  }
  nest->independent = int(count);
  if (nest->ndim == 0) {
    nest->ndim = 1;
    nest->shape[0] = 1;
    for (int k = 0; k < nest->operands; ++k) nest->stride[k][0] = 0;
  }
  return true;
}

bool run_checked(Nest* nest, PyObject* dtype_of) {
  if (nest->row) {
    run(nest);
    return true;
  }
  PyErr_Format(PyExc_TypeError, "merge: no such operation for %R",
               PyArray_DESCR(as_array(dtype_of)));
  return false;
}

}  // namespace

// merge(name, source, out, independent)
PyObject* merge(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  const char* name = nargs == 4 ? PyUnicode_AsUTF8(args[0]) : nullptr;
  if (!name) {
    PyErr_SetString(PyExc_TypeError, "merge(name, source, out, independent)");
    return nullptr;
  }
  Nest nest;
  if (!add_operand(&nest, args[1], false) || !add_operand(&nest, args[2], true) ||
      !finish(&nest, args[3])) {
    return nullptr;
  }
  int type = PyArray_TYPE(as_array(args[2]));
  if (PyArray_TYPE(as_array(args[1])) != type) {
    PyErr_SetString(PyExc_TypeError, "merge: the arrays must have one dtype");
    return nullptr;
  }
  if (!strcmp(name, "copy")) {
    nest.row = copy_for(PyArray_ITEMSIZE(as_array(args[2])));
  } else if (!strcmp(name, "add")) {
    nest.row = row_for<AddRows>(type);
  } else if (!strcmp(name, "maximum")) {
    nest.row = row_for<MaximumRows>(type);
  } else {
    PyErr_Format(PyExc_ValueError, "merge: copy, add or maximum, not %R", args[0]);
    return nullptr;
  }
  return run_checked(&nest, args[2]) ? Py_NewRef(args[2]) : nullptr;
}

// merge_numbers(source, numbers, out, out_numbers, independent)
PyObject* merge_numbers(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 5) {
    PyErr_SetString(PyExc_TypeError,
                    "merge_numbers(source, numbers, out, out_numbers, independent)");
    return nullptr;
  }
  Nest nest;
  for (int k = 0; k < kOperands; ++k) {
    if (!add_operand(&nest, args[k], k >= 2)) return nullptr;
  }
  if (!finish(&nest, args[4])) return nullptr;
  int type = PyArray_TYPE(as_array(args[0]));
  if (PyArray_TYPE(as_array(args[2])) != type || PyArray_TYPE(as_array(args[1])) != NPY_INT32 ||
      PyArray_TYPE(as_array(args[3])) != NPY_INT32) {
    PyErr_SetString(PyExc_TypeError, "merge_numbers: values of one dtype, numbers int32");
    return nullptr;
  }
  nest.row = row_for<NumberRows>(type);
  return run_checked(&nest, args[0]) ? Py_NewRef(args[2]) : nullptr;
}

// merge_at(source, places, out, limit, independent): each value is added `place` elements behind its
// element of `out`, which is the first one of an image of `limit` elements
PyObject* merge_at(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 5) {
    PyErr_SetString(PyExc_TypeError, "merge_at(source, places, out, limit, independent)");
    return nullptr;
  }
  Nest nest;
  for (int k = 0; k < 3; ++k) {
    if (!add_operand(&nest, args[k], k == 2)) return nullptr;
  }
  npy_intp limit = PyNumber_AsSsize_t(args[3], PyExc_OverflowError);
  if ((limit == -1 && PyErr_Occurred()) || !finish(&nest, args[4])) return nullptr;
  int type = PyArray_TYPE(as_array(args[0]));
  if (PyArray_TYPE(as_array(args[2])) != type || PyArray_TYPE(as_array(args[1])) != NPY_INT64) {
    PyErr_SetString(PyExc_TypeError, "merge_at: values of one dtype, places int64");
    return nullptr;
  }
  if (!PyArray_IS_C_CONTIGUOUS(as_array(args[1]))) {
    PyErr_SetString(PyExc_ValueError, "merge_at: places must be contiguous");
    return nullptr;
  }
  const auto* places = reinterpret_cast<const int64_t*>(PyArray_BYTES(as_array(args[1])));
  bool outside = false;
  for (npy_intp i = 0, n = PyArray_SIZE(as_array(args[1])); i < n; ++i) {
    outside |= uint64_t(places[i]) >= uint64_t(limit);
  }
  if (outside) {
    PyErr_Format(PyExc_IndexError, "a place is outside of the %zd elements of its image", limit);
    return nullptr;
  }
  nest.row = row_for<AddAtRows>(type);
  return run_checked(&nest, args[0]) ? Py_NewRef(args[2]) : nullptr;
}

}  // namespace tp
