// See nest.h.
#include "nest.h"

#include <cstdlib>

namespace tp {

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
  npy_intp shape[NPY_MAXDIMS], strides[kMaxOperands][NPY_MAXDIMS];
  memcpy(shape, nest->shape, sizeof(npy_intp) * size_t(nest->ndim));
  for (int k = 0; k < nest->operands; ++k) {
    memcpy(strides[k], nest->strides[k], sizeof(npy_intp) * size_t(nest->ndim));
  }
  nest->ndim = 0;
  for (int i = 0; i < kept; ++i) {
    int d = order[i], last = nest->ndim - 1;
    bool merge = last >= 0;
    for (int k = 0; merge && k < nest->operands; ++k) {
      merge = nest->strides[k][last] == strides[k][d] * shape[d];
    }
    if (!merge) {
      last = nest->ndim++;
      nest->shape[last] = 1;
    }
    nest->shape[last] *= shape[d];
    for (int k = 0; k < nest->operands; ++k) nest->strides[k][last] = strides[k][d];
  }
}

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

int broadcast(PyArrayObject* const* arrays, int count, npy_intp* shape) {
  int ndim = 0;
  for (int k = 0; k < count; ++k) ndim = std::max(ndim, PyArray_NDIM(arrays[k]));
  std::fill(shape, shape + ndim, npy_intp(1));
  for (int d = 0; d < ndim; ++d) {
    for (int k = 0; k < count; ++k) {
      int at = d - (ndim - PyArray_NDIM(arrays[k]));
      npy_intp size = at < 0 ? 1 : PyArray_DIM(arrays[k], at);
      if (size == 1 || size == shape[d]) continue;
      if (shape[d] != 1) {
        PyObject* known = PyArray_IntTupleFromIntp(ndim, shape);
        PyObject* other = PyArray_IntTupleFromIntp(PyArray_NDIM(arrays[k]), PyArray_DIMS(arrays[k]));
        if (known && other) {
          PyErr_Format(PyExc_ValueError, "shapes %R and %R do not broadcast", known, other);
        }
        Py_XDECREF(known);
        Py_XDECREF(other);
        return -1;
      }
      shape[d] = size;
    }
  }
  return ndim;
}

}  // namespace tp
