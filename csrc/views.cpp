// Strided views of arrays: the eager kernel of every view operator.
#include "common.h"

namespace tp {

namespace {

// The memory that a view may reach: that of the last array in the chain of bases.
Extent memory_of(PyObject* array) {
  while (PyObject* base = PyArray_BASE(as_array(array))) {
    if (!PyArray_Check(base)) break;
    array = base;
  }
  return extent_of(as_array(array));
}

// Element distances [*first, *last] from data that the shape and strides touch; overflow is an
// error.
bool touched(int ndim, const npy_intp* shape, const npy_intp* strides, npy_intp* first,
             npy_intp* last) {
  for (int d = 0; d < ndim; ++d) {
    npy_intp extent;
    npy_intp* end = strides[d] < 0 ? first : last;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &extent) ||
        __builtin_add_overflow(*end, extent, end)) {
      return false;
    }
  }
  return true;
}

}  // namespace

// view(array, shape, strides, offset): strides and offset in elements
PyObject* view(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 4 || !PyArray_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "view(array, shape, strides, offset)");
    return nullptr;
  }
  auto* array = as_array(args[0]);
  npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], unit = PyArray_ITEMSIZE(array);
  int ndim = parse_sizes(args[1], shape, "shape");
  if (ndim < 0) return nullptr;
  int given = parse_sizes(args[2], strides, "strides");
  if (given < 0) return nullptr;
  npy_intp offset = PyNumber_AsSsize_t(args[3], PyExc_OverflowError);
  if (offset == -1 && PyErr_Occurred()) return nullptr;
  if (given != ndim) {
    PyErr_Format(PyExc_ValueError, "shape %R and strides %R differ in length", args[1], args[2]);
    return nullptr;
  }
  bool is_empty = false, negative = false;
  for (int d = 0; d < ndim; ++d) {
    is_empty |= shape[d] == 0;
    negative |= shape[d] < 0;
  }
  if (negative) {
    PyErr_Format(PyExc_ValueError, "sizes must not be negative, got shape %R", args[1]);
    return nullptr;
  }
  Extent memory = memory_of(args[0]);
  npy_intp begin = (memory.low - PyArray_BYTES(array)) / unit;
  npy_intp end = (memory.high - PyArray_BYTES(array)) / unit;
  npy_intp first = offset, last = offset;
  bool inside =
      is_empty || (touched(ndim, shape, strides, &first, &last) && first >= begin && last < end);
  if (!inside) {
    PyErr_Format(PyExc_ValueError,
                 "a view of shape %R, strides %R and offset %zd leaves the memory, which has "
                 "elements %zd to %zd counted from the tensor's first",
                 args[1], args[2], offset, begin, end - 1);
    return nullptr;
  }
  for (int d = 0; d < ndim; ++d) strides[d] = is_empty ? unit : strides[d] * unit;
  char* data = PyArray_BYTES(array) + (is_empty ? 0 : offset * unit);
  Py_INCREF(PyArray_DESCR(array));
  PyObject* made = PyArray_NewFromDescr(
      &PyArray_Type, PyArray_DESCR(array), ndim, shape, strides, data,
      PyArray_FLAGS(array) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED), nullptr);
  if (made && PyArray_SetBaseObject(as_array(made), Py_NewRef(args[0])) < 0) {
    Py_CLEAR(made);
  }
  return made;
}

// reach(array): the first and last element of the owner's memory, from the array's first element
PyObject* reach(PyObject*, PyObject* object) {
  if (!PyArray_Check(object)) {
    PyErr_Format(PyExc_TypeError, "expected a NumPy array, got %.100s", Py_TYPE(object)->tp_name);
    return nullptr;
  }
  PyArrayObject* array = as_array(object);
  Extent memory = memory_of(object);
  npy_intp unit = PyArray_ITEMSIZE(array);
  return Py_BuildValue("nn", (memory.low - PyArray_BYTES(array)) / unit,
                       (memory.high - PyArray_BYTES(array)) / unit - 1);
}

}  // namespace tp
