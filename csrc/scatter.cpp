// add_rows(target, rows, values): target[rows[i]] += values[i], one after the other for each row.
//
// The target is a matrix whose rows threads share out: each thread reads all places and adds what falls among its own
// rows, so a row's sums have the order, and so the bits, of a serial loop.
#include "common.h"

namespace tp {

namespace {

struct Rows {
  char* target;
  const int64_t* rows;
  const char* values;
  int64_t count, width;
};

// Rows a thread takes at least: reading the places again must cost less than the additions.
constexpr int64_t kGrain = 64;
constexpr int64_t kSerial = 4096;  // additions up to which one thread does them all

template <class T>
int64_t add_rows_of(void* context, int64_t begin, int64_t end) {
  const auto& r = *static_cast<const Rows*>(context);
  auto* target = reinterpret_cast<T*>(r.target);
  auto* values = reinterpret_cast<const T*>(r.values);
  for (int64_t i = 0; i < r.count; ++i) {
    const int64_t row = r.rows[i];
    if (row < begin || row >= end) continue;
    T* to = target + row * r.width;
    const T* from = values + i * r.width;
    for (int64_t k = 0; k < r.width; ++k) to[k] = T(to[k] + from[k]);
  }
  return 0;
}

// Integers wrap, so one loop serves both signs.
RangeFunction loop_for(int type_num, npy_intp itemsize) {
  if (type_num == NPY_FLOAT) return add_rows_of<float>;
  if (type_num == NPY_DOUBLE) return add_rows_of<double>;
  if (!PyTypeNum_ISINTEGER(type_num)) return nullptr;
  switch (itemsize) {
    case 1: return add_rows_of<uint8_t>;
    case 2: return add_rows_of<uint16_t>;
    case 4: return add_rows_of<uint32_t>;
    default: return add_rows_of<uint64_t>;
  }
}

bool is_plain(PyObject* object, int ndim) {
  return PyArray_Check(object) && PyArray_NDIM(as_array(object)) == ndim &&
         PyArray_IS_C_CONTIGUOUS(as_array(object)) && !PyArray_ISBYTESWAPPED(as_array(object));
}

}  // namespace

PyObject* add_rows(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 3 || !is_plain(args[0], 2) || !is_plain(args[1], 1) || !is_plain(args[2], 2) ||
      PyArray_TYPE(as_array(args[1])) != NPY_INT64 || !PyArray_ISWRITEABLE(as_array(args[0])) ||
      PyArray_TYPE(as_array(args[0])) != PyArray_TYPE(as_array(args[2]))) {
    PyErr_SetString(PyExc_TypeError, "add_rows: expected contiguous (matrix, int64 vector, matrix)");
    return nullptr;
  }
  PyArrayObject *target = as_array(args[0]), *rows = as_array(args[1]), *values = as_array(args[2]);
  RangeFunction function = loop_for(PyArray_TYPE(target), PyArray_ITEMSIZE(target));
  if (!function) {
    PyErr_Format(PyExc_TypeError, "add_rows: no loop for %R", PyArray_DESCR(target));
    return nullptr;
  }
  Rows r = {PyArray_BYTES(target), static_cast<const int64_t*>(PyArray_DATA(rows)),
            PyArray_BYTES(values), PyArray_DIM(rows, 0), PyArray_DIM(target, 1)};
  const int64_t height = PyArray_DIM(target, 0);
  if (PyArray_DIM(values, 0) != r.count || PyArray_DIM(values, 1) != r.width) {
    PyErr_SetString(PyExc_ValueError, "add_rows: values must have a row for each place");
    return nullptr;
  }
  for (int64_t i = 0; i < r.count; ++i) {
    if (r.rows[i] < 0 || r.rows[i] >= height) {
      PyErr_Format(PyExc_IndexError, "add_rows: row %lld of %lld", (long long)r.rows[i],
                   (long long)height);
      return nullptr;
    }
  }
  const bool serial = r.count * r.width <= kSerial;
  PyThreadState* state = serial ? nullptr : PyEval_SaveThread();
  if (serial) {
    function(&r, 0, height);
  } else {
    // As many ranges as threads: more would read the places more often.
    const int64_t each = (height + thread_count() - 1) / thread_count();
    parallel_for(height, each > kGrain ? each : kGrain, function, &r);
  }
  if (state) PyEval_RestoreThread(state);
  Py_RETURN_NONE;
}

}  // namespace tp
