// Convolutions in which a result reads one channel (depthwise): sums over windows kept in registers; included by
// elementwise_loops.h.
#pragma once

#include "elementwise.h"

namespace tp {
namespace {

// sum + a * b, as a BLAS does it: in one step where the machine has that.
template <class V>
TP_METHOD V with_product(V sum, V a, V b) {
#if defined(__FMA__) || defined(__aarch64__)
  return fma(a, b, sum);
#else
  return sum + a * b;
#endif
}

// `r` rows of windows from one on, `n` windows of each at a time: as many sums, none of which waits for another.
template <class T, int n, int r>
TP_METHOD void window_rows(const WindowPlane& w, int64_t row) {
  typedef Vec<T, n> V;
  auto* weight = static_cast<const T*>(w.weight);
  auto* out = static_cast<T*>(w.out) + row * w.count;
  const int64_t room = (w.height - row) * w.count;
  for (int64_t begin = 0;;) {
    auto* base = static_cast<const T*>(w.plane) + row * w.row_step + begin;
    V sums[r];
    for (int k = 0; k < r; ++k) sums[k] = V(T(0));
    for (int64_t t = 0; t < w.taps; ++t) {
      const V factor(weight[t]);
      const T* at = base + w.offsets[t];
      for (int k = 0; k < r; ++k) sums[k] = with_product(sums[k], factor, load<n>(at + k * w.row_step));
    }
    for (int k = 0; k < r; ++k) {
      // What reaches over a short row's end is written over with the rows after it.
      const int64_t place = k * w.count + begin;
      if (place + n <= room) {
        store(out + place, sums[k]);
      } else {
        store(out + place, sums[k], w.count - begin);
      }
    }
    if (begin + n >= w.count) return;
    begin = begin + 2 * n <= w.count ? begin + n : w.count - n;
  }
}

template <class T, int n>
void window_plane_by(const WindowPlane& w) {
  int64_t row = 0;
  if constexpr (n < kLanes<T>) {
    for (; row + 8 <= w.height; row += 8) window_rows<T, n, 8>(w, row);
  }
  for (; row + 4 <= w.height; row += 4) window_rows<T, n, 4>(w, row);
  for (; row < w.height; ++row) window_rows<T, n, 1>(w, row);
}

template <class T>
void window_plane(const WindowPlane& w) {
  if (w.count > kLanes<T> / 2) {
    window_plane_by<T, kLanes<T>>(w);
  } else if (w.count > kLanes<T> / 4) {
    window_plane_by<T, kLanes<T> / 2>(w);
  } else {
    window_plane_by<T, kLanes<T> / 4>(w);
  }
}

}  // namespace
}  // namespace tp
