// The loop nest of one call over strided operands, and the walks through them.
//
// Dimensions stand in the output's memory order, merged where all operands allow it. An element is a T, or, in an operand
// that holds truth values, a byte; blocks of elements are always Ts, with 1 and 0 for true and false.
#pragma once

#include "common.h"

#include <algorithm>
#include <cstring>

namespace tp {

constexpr int kMaxInputs = 12;
constexpr int kMaxOperands = kMaxInputs + 1;

// Operand 0 is the output.
struct Nest {
  int operands;
  int ndim;
  npy_intp count;
  npy_intp shape[NPY_MAXDIMS];
  npy_intp strides[kMaxOperands][NPY_MAXDIMS];  // bytes
  char* data[kMaxOperands];
  bool is_bool[kMaxOperands];
};

// Walks one operand in the nest's order.
struct Cursor {
  const Nest* nest;
  int operand;
  char* at;
  npy_intp index[NPY_MAXDIMS];

  void start(const Nest& n, int k, int64_t first) {
    nest = &n;
    operand = k;
    at = n.data[k];
    for (int d = n.ndim - 1; d >= 0; --d) {
      index[d] = first % n.shape[d];
      first /= n.shape[d];
      at += index[d] * n.strides[k][d];
    }
  }

  // Elements left in the innermost dimension.
  npy_intp run() const {
    return nest->ndim ? nest->shape[nest->ndim - 1] - index[nest->ndim - 1] : 1;
  }
  npy_intp stride() const { return nest->ndim ? nest->strides[operand][nest->ndim - 1] : 0; }
  bool is_constant() const { return nest->ndim == 0 || (nest->ndim == 1 && stride() == 0); }

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
  const bool is_bool = cursor->nest->is_bool[cursor->operand];
  while (count > 0) {
    npy_intp n = std::min(count, cursor->run()), stride = cursor->stride();
    const char* at = cursor->at;
    if (is_bool) {
      for (npy_intp i = 0; i < n; ++i) block[i] = at[i * stride] ? T(1) : T(0);
    } else if (stride == npy_intp(sizeof(T))) {
      memcpy(block, at, size_t(n) * sizeof(T));
    } else if (stride == 0) {
      T number;
      memcpy(&number, at, sizeof(T));
      std::fill(block, block + n, number);
    } else {
      for (npy_intp i = 0; i < n; ++i) memcpy(block + i, at + i * stride, sizeof(T));
    }
    cursor->advance(n);
    block += n;
    count -= n;
  }
}

template <class T>
void scatter(Cursor* cursor, const T* block, npy_intp count) {
  const bool is_bool = cursor->nest->is_bool[cursor->operand];
  while (count > 0) {
    npy_intp n = std::min(count, cursor->run()), stride = cursor->stride();
    char* at = cursor->at;
    if (is_bool) {
      for (npy_intp i = 0; i < n; ++i) at[i * stride] = block[i] != T(0);
    } else {
      for (npy_intp i = 0; i < n; ++i) memcpy(at + i * stride, block + i, sizeof(T));
    }
    cursor->advance(n);
    block += n;
    count -= n;
  }
}

// Orders dimensions by the output's strides, outermost first, and merges neighbours.
void arrange(Nest* nest);

// Byte strides of the output that NumPy's order 'K' gives for one input: the input's order of
// dimensions, without gaps.
void keep_order(PyArrayObject* input, npy_intp itemsize, npy_intp* strides);

// Whether writing into one array may change what is still to be read of another.
bool overlaps_differently(PyArrayObject* out, PyArrayObject* input);

// Broadcasts the arrays' shapes; -1 with an error.
int broadcast(PyArrayObject* const* arrays, int count, npy_intp* shape);

}  // namespace tp
