// Strided views of arrays: the eager kernel of every view operator.
#include "common.h"

namespace tp {

namespace {

// The end of an array's chain of bases, and its bytes: what a view may reach.
bool owned_bytes(PyArrayObject* array, char** begin, npy_intp* nbytes) {
  PyObject* owner = reinterpret_cast<PyObject*>(array);
  PyArrayObject* last = array;
  while (PyArray_Check(owner)) {
    last = reinterpret_cast<PyArrayObject*>(owner);
    PyObject* base = PyArray_BASE(last);
    if (!base) break;
    owner = base;
  }
  if (Py_TYPE(owner) == &BlockType) {
    auto* block = reinterpret_cast<BlockObject*>(owner);
    *begin = block->data;
    *nbytes = static_cast<npy_intp>(block->nbytes);
    return true;
  }
  // The outermost array covers the memory that a foreign owner lent.
  char* low = PyArray_BYTES(last);
  char* high = low;
  for (int d = 0; d < PyArray_NDIM(last); ++d) {
    npy_intp size = PyArray_DIM(last, d);
    if (size == 0) {
      *begin = low;
      *nbytes = 0;
      return true;
    }
    npy_intp reach = (size - 1) * PyArray_STRIDE(last, d);
    (reach < 0 ? low : high) += reach;
  }
  *begin = low;
  *nbytes = high - low + PyArray_ITEMSIZE(last);
  return true;
}

PyArrayObject* as_array(PyObject* object, const char* name) {
  if (!PyArray_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s: expected an ndarray, got %.100s", name,
                 Py_TYPE(object)->tp_name);
    return nullptr;
  }
  return reinterpret_cast<PyArrayObject*>(object);
}

}  // namespace

// view(array, shape, strides, offset): strides and offset in elements, from the array's first element
PyObject* view(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 4) {
    PyErr_SetString(PyExc_TypeError, "view(array, shape, strides, offset)");
    return nullptr;
  }
  PyArrayObject* array = as_array(args[0], "view");
  if (!array) return nullptr;
  npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  int ndim = parse_sizes(args[1], shape, "shape");
  if (ndim < 0) return nullptr;
  int given = parse_sizes(args[2], strides, "strides");
  if (given < 0) return nullptr;
  npy_intp offset = PyLong_AsSsize_t(args[3]);
  if (offset == -1 && PyErr_Occurred()) return nullptr;
  if (given != ndim) {
    PyErr_Format(PyExc_ValueError, "shape %R and strides %R differ in length", args[1], args[2]);
    return nullptr;
  }
  npy_intp itemsize = PyArray_ITEMSIZE(array);
  npy_intp low = offset * itemsize, high = low;
  bool empty = false;
  for (int d = 0; d < ndim; ++d) {
    strides[d] *= itemsize;
    if (shape[d] <= 0) {
      empty = true;
    } else {
      (strides[d] < 0 ? low : high) += (shape[d] - 1) * strides[d];
    }
  }
  char* begin;
  npy_intp nbytes;
  owned_bytes(array, &begin, &nbytes);
  char* data = PyArray_BYTES(array);
  if (empty) {
    offset = 0;
  } else if (data + low < begin || data + high + itemsize > begin + nbytes) {
    PyErr_Format(PyExc_ValueError, "view: shape %R, strides %R, offset %zd leave the memory", args[1],
                 args[2], offset);
    return nullptr;
  }
  PyArray_Descr* descr = PyArray_DESCR(array);
  Py_INCREF(descr);
  PyObject* result =
      PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, data + offset * itemsize,
                           PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, nullptr);
  if (!result) return nullptr;
  Py_INCREF(array);
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(result),
                            reinterpret_cast<PyObject*>(array)) < 0) {
    Py_DECREF(result);
    return nullptr;
  }
  return result;
}

// reach(array): the first and last element of the memory that it belongs to, from its own first element
PyObject* reach(PyObject*, PyObject* object) {
  PyArrayObject* array = as_array(object, "reach");
  if (!array) return nullptr;
  char* begin;
  npy_intp nbytes;
  owned_bytes(array, &begin, &nbytes);
  npy_intp itemsize = PyArray_ITEMSIZE(array);
  npy_intp first = (begin - PyArray_BYTES(array)) / itemsize;
  return Py_BuildValue("(nn)", first, first + nbytes / itemsize - 1);
}

}  // namespace tp
