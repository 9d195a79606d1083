// The contiguous loops of elementary functions, compiled once for each instruction set.
#pragma once

#include <cstdint>

namespace tp {

// out[i] = f(operands[0][i], ...) for i in [0, count); out may be one of the operands.
using ElementwiseLoop = void (*)(const void* const* operands, void* out, int64_t count);

struct ElementwiseFunction {
  const char* name;
  int arity;
  ElementwiseLoop f32;
  ElementwiseLoop f64;
};

// out[i] = words 0 and 1 of Philox4x32-10 with counter (index[i], offset) and key seed.
using PhiloxLoop = void (*)(uint64_t seed, uint64_t offset, const int64_t* index, uint64_t* out,
                            int64_t count);

// A function of rows of `size` elements that follow one another; every row gives a row.
using RowLoop = void (*)(const void* const* operands, void* out, int64_t rows, int64_t size);

struct RowFunction {
  const char* name;
  int arity;
  RowLoop f32;
  RowLoop f64;
};

// All windows over a plane that has its padding: out[p, q] = sum of weight[t] * plane[p * row_step + q + offsets[t]], of
// `height` rows of `count` windows. Up to kWindowSlack elements behind the plane are read.
struct WindowPlane {
  const void* plane;
  int64_t row_step;
  const int64_t* offsets;
  const void* weight;
  int64_t taps;
  void* out;
  int64_t height, count;
};
using WindowLoop = void (*)(const WindowPlane& windows);
constexpr int64_t kWindowSlack = 64;

struct ElementwiseSet {
  const char* isa;
  const ElementwiseFunction* functions;
  int count;
  PhiloxLoop philox;
  const RowFunction* rows;
  int row_count;
  WindowLoop window_f32;
  WindowLoop window_f64;
};

// The set in use.
const ElementwiseSet& elementwise_chosen();

// One set for each instruction set that this build has.
const ElementwiseSet& elementwise_generic();
#if defined(__x86_64__)
const ElementwiseSet& elementwise_avx2();
const ElementwiseSet& elementwise_avx512();
#endif

}  // namespace tp
