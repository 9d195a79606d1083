// Softmax and its relatives on rows, a row at a time while it lies in the cache; included by elementwise_loops.h.
//
// Each does with the same functions what its operator is composed of: only the order of a sum is its own, and depends on
// the row's length alone.
#pragma once

#include "elementwise.h"

// A lambda is part of the loop that calls it.
#define TP_HERE __attribute__((always_inline))

namespace tp {
namespace {

// The largest element, or NaN if there is one; a row has one element at least.
template <class T>
T row_max(const T* x, int64_t size) {
  constexpr int n = kLanes<T>;
  if (size < n) {
    T top = x[0];
    for (int64_t i = 1; i < size; ++i) top = maximum(top, x[i]);
    return top;
  }
  auto top = load<n>(x);
  for (int64_t i = n; i + n <= size; i += n) top = maximum(top, load<n>(x + i));
  return reduce(Max(), maximum(top, load<n>(x + size - n)));
}

// Calls `body(place, count)` for the whole vectors of a row and for its rest.
template <class T, class F>
TP_METHOD void row_vectors(int64_t size, F body) {
  constexpr int n = kLanes<T>;
  int64_t i = 0;
  for (; i + n <= size; i += n) body(i, n);
  if (i < size) body(i, int(size - i));
}

// The sum of what `term` gives for each vector of a row.
template <class T, class F>
TP_METHOD T row_sum(int64_t size, F term) {
  constexpr int n = kLanes<T>;
  Vec<T, n> sums(T(0));
  int64_t i = 0;
  for (; i + n <= size; i += n) sums = sums + term(i, n);
  T total = reduce(Add(), sums);
  if (i < size) {
    const auto rest = term(i, int(size - i));
    for (int k = 0; k < int(size - i); ++k) total += rest[k];
  }
  return total;
}

template <class T, bool is_masked>
void softmax_rows(const void* const* operands, void* out, int64_t rows, int64_t size) {
  constexpr int n = kLanes<T>;
  typedef Vec<T, n> V;
  for (int64_t row = 0; row < rows; ++row) {
    auto* x = static_cast<const T*>(operands[0]) + row * size;
    auto* y = static_cast<T*>(out) + row * size;
    T top = row_max(x, size);
    if (is_masked && top == -T(__builtin_inf())) top = T(0);
    T total = row_sum<T>(size, [&](int64_t i, int count) TP_HERE {
      const V e = tp::exp(load<n>(x + i, count) - V(top));
      store(y + i, e, count);
      return e;
    });
    if (is_masked && total == T(0)) total = T(1);
    row_vectors<T>(size, [&](int64_t i, int count) TP_HERE {
      store(y + i, load<n>(y + i, count) / V(total), count);
    });
  }
}

template <class T>
void log_softmax_rows(const void* const* operands, void* out, int64_t rows, int64_t size) {
  constexpr int n = kLanes<T>;
  typedef Vec<T, n> V;
  for (int64_t row = 0; row < rows; ++row) {
    auto* x = static_cast<const T*>(operands[0]) + row * size;
    auto* y = static_cast<T*>(out) + row * size;
    const T top = row_max(x, size);
    const T total = row_sum<T>(size, [&](int64_t i, int count) TP_HERE {
      const V shifted = load<n>(x + i, count) - V(top);
      store(y + i, shifted, count);
      return tp::exp(shifted);
    });
    const T shift = tp::log(total);
    row_vectors<T>(size, [&](int64_t i, int count) TP_HERE {
      store(y + i, load<n>(y + i, count) - V(shift), count);
    });
  }
}

// From the gradient of a result y and from y: g * y - y * (g * y).sum().
template <class T>
void softmax_grad_rows(const void* const* operands, void* out, int64_t rows, int64_t size) {
  constexpr int n = kLanes<T>;
  typedef Vec<T, n> V;
  for (int64_t row = 0; row < rows; ++row) {
    auto* g = static_cast<const T*>(operands[0]) + row * size;
    auto* y = static_cast<const T*>(operands[1]) + row * size;
    auto* x = static_cast<T*>(out) + row * size;
    const T total = row_sum<T>(size, [&](int64_t i, int count) TP_HERE {
      const V product = load<n>(g + i, count) * load<n>(y + i, count);
      store(x + i, product, count);
      return product;
    });
    row_vectors<T>(size, [&](int64_t i, int count) TP_HERE {
      store(x + i, load<n>(x + i, count) - load<n>(y + i, count) * V(total), count);
    });
  }
}

// The same of log_softmax: g - exp(y) * g.sum().
template <class T>
void log_softmax_grad_rows(const void* const* operands, void* out, int64_t rows, int64_t size) {
  constexpr int n = kLanes<T>;
  typedef Vec<T, n> V;
  for (int64_t row = 0; row < rows; ++row) {
    auto* g = static_cast<const T*>(operands[0]) + row * size;
    auto* y = static_cast<const T*>(operands[1]) + row * size;
    auto* x = static_cast<T*>(out) + row * size;
    const T total = row_sum<T>(size, [&](int64_t i, int count) TP_HERE { return load<n>(g + i, count); });
    row_vectors<T>(size, [&](int64_t i, int count) TP_HERE {
      const V product = tp::exp(load<n>(y + i, count)) * V(total);
      store(x + i, load<n>(g + i, count) - product, count);
    });
  }
}

const RowFunction row_functions[] = {
    {"softmax", 1, softmax_rows<float, false>, softmax_rows<double, false>},
    {"softmax_or_zeros", 1, softmax_rows<float, true>, softmax_rows<double, true>},
    {"log_softmax", 1, log_softmax_rows<float>, log_softmax_rows<double>},
    {"softmax_grad", 2, softmax_grad_rows<float>, softmax_grad_rows<double>},
    {"log_softmax_grad", 2, log_softmax_grad_rows<float>, log_softmax_grad_rows<double>},
};

}  // namespace
}  // namespace tp
