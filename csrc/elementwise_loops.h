// The body of elementwise_{generic,avx2,avx512}.cpp, which differ in their compiler flags only.
//
// The functions are those that generated kernels include, so eager and compiled bits agree; the
// header's inline namespace is named for the instruction set, so the objects do not share symbols.
#include "elementwise.h"

#include "tp_special.h"

namespace tp {
namespace {

template <class T>
constexpr int kLanes = 2 * TP_VECTOR_BYTES / int(sizeof(T));

}  // namespace
}  // namespace tp

#include "row_loops.h"
#include "window_loops.h"

namespace tp {
namespace {

template <class T, class F>
void unary_loop(const void* const* operands, void* out, int64_t count) {
  auto* x = static_cast<const T*>(operands[0]);
  auto* z = static_cast<T*>(out);
  constexpr int n = kLanes<T>;
  int64_t i = 0;
  for (; i + n <= count; i += n) store(z + i, F::apply(load<n>(x + i)));
  if (i < count) store(z + i, F::apply(load<n>(x + i, count - i)), count - i);
}

template <class T, class F>
void binary_loop(const void* const* operands, void* out, int64_t count) {
  auto* x = static_cast<const T*>(operands[0]);
  auto* y = static_cast<const T*>(operands[1]);
  auto* z = static_cast<T*>(out);
  constexpr int n = kLanes<T>;
  int64_t i = 0;
  for (; i + n <= count; i += n) store(z + i, F::apply(load<n>(x + i), load<n>(y + i)));
  if (i < count) {
    int64_t rest = count - i;
    store(z + i, F::apply(load<n>(x + i, rest), load<n>(y + i, rest)), rest);
  }
}

// Truth values are 1 and 0.
template <class T>
void where_loop(const void* const* operands, void* out, int64_t count) {
  auto* c = static_cast<const T*>(operands[0]);
  auto* x = static_cast<const T*>(operands[1]);
  auto* y = static_cast<const T*>(operands[2]);
  auto* z = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = c[i] != T(0) ? x[i] : y[i];
}

// Special functions branch, so lanes gain nothing.
template <class T, class F>
void special_unary_loop(const void* const* operands, void* out, int64_t count) {
  auto* x = static_cast<const T*>(operands[0]);
  auto* y = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) y[i] = F::apply(x[i]);
}

template <class T, class F>
void special_binary_loop(const void* const* operands, void* out, int64_t count) {
  auto* x = static_cast<const T*>(operands[0]);
  auto* y = static_cast<const T*>(operands[1]);
  auto* z = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = F::apply(x[i], y[i]);
}

void philox_loop(uint64_t seed, uint64_t offset, const int64_t* index, uint64_t* out,
                 int64_t count) {
  constexpr int n = TP_VECTOR_BYTES / 4;
  typedef Vec<int64_t, n> I;
  const I key = I(int64_t(seed)), high = I(int64_t(offset));
  int64_t i = 0;
  for (; i + n <= count; i += n) store(out + i, philox(key, high, load<n>(index + i)));
  if (i < count) {
    store(out + i, philox(key, high, load<n>(index + i, count - i)), count - i);
  }
}

#define TP_UNARY_LIST(F)                                                                         \
  F(exp)                                                                                         \
  F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) \
      F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf) F(erfc) F(sigmoid) F(erfinv)     \
          F(rsqrt) F(abs) F(square) F(reciprocal) F(sqrt) F(relu) F(floor) F(ceil) F(trunc)      \
              F(round) F(sign) F(frexp_mantissa) F(frexp_exponent)
#define TP_BINARY_LIST(F) \
  F(fmax) F(fmin) F(copysign) F(pow) F(atan2) F(hypot) F(fmod) F(remainder) F(floordiv) F(maximum) F(minimum) F(nextafter)

#define TP_DEFINE_UNARY(name)       \
  struct unary_##name {             \
    template <class X>              \
    static TP_METHOD X apply(X x) { \
      return tp::name(x);           \
    }                               \
  };
#define TP_DEFINE_BINARY(name)           \
  struct binary_##name {                 \
    template <class X>                   \
    static TP_METHOD X apply(X x, X y) { \
      return tp::name(x, y);             \
    }                                    \
  };
TP_UNARY_LIST(TP_DEFINE_UNARY)
TP_SPECIAL_UNARY_LIST(TP_DEFINE_UNARY)
TP_BINARY_LIST(TP_DEFINE_BINARY)
TP_SPECIAL_BINARY_LIST(TP_DEFINE_BINARY)

// What has no name in the headers: operators, and questions, whose answers are 1 and 0.
#define TP_ARITHMETIC_LIST(F) F(add, x + y) F(sub, x - y) F(mul, x * y) F(truediv, x / y)
#define TP_COMPARISON_LIST(F)                                                                  \
  F(lt, x < y) F(le, x <= y) F(gt, x > y) F(ge, x >= y) F(eq, x == y) F(ne, x != y)            \
      F(logical_and, (x != X(0)) & (y != X(0))) F(logical_or, (x != X(0)) | (y != X(0)))       \
          F(logical_xor, (x != X(0)) ^ (y != X(0)))
#define TP_QUESTION_LIST(F)                                                                   \
  F(truth, x != X(0)) F(logical_not, x == X(0)) F(isnan, tp::isnan(x)) F(isinf, tp::isinf(x)) \
      F(isfinite, tp::isfinite(x)) F(signbit, tp::signbit(x))
#define TP_DEFINE_ARITHMETIC(name, expression) \
  struct binary_##name {                       \
    template <class X>                         \
    static TP_METHOD X apply(X x, X y) {       \
      return expression;                       \
    }                                          \
  };
#define TP_DEFINE_COMPARISON(name, expression) \
  TP_DEFINE_ARITHMETIC(name, tp::where(expression, X(1), X(0)))
#define TP_DEFINE_QUESTION(name, expression)     \
  struct unary_##name {                          \
    template <class X>                           \
    static TP_METHOD X apply(X x) {              \
      return tp::where(expression, X(1), X(0));  \
    }                                            \
  };
struct unary_neg {
  template <class X>
  static TP_METHOD X apply(X x) {
    return -x;
  }
};
TP_ARITHMETIC_LIST(TP_DEFINE_ARITHMETIC)
TP_COMPARISON_LIST(TP_DEFINE_COMPARISON)
TP_QUESTION_LIST(TP_DEFINE_QUESTION)

#define TP_LIST_UNARY(name) \
  {#name, 1, unary_loop<float, unary_##name>, unary_loop<double, unary_##name>},
#define TP_LIST_BINARY(name) \
  {#name, 2, binary_loop<float, binary_##name>, binary_loop<double, binary_##name>},
#define TP_LIST_SPECIAL_UNARY(name)                     \
  {#name, 1, special_unary_loop<float, unary_##name>, \
   special_unary_loop<double, unary_##name>},
#define TP_LIST_SPECIAL_BINARY(name)                     \
  {#name, 2, special_binary_loop<float, binary_##name>, \
   special_binary_loop<double, binary_##name>},
#define TP_LIST_UNARY_OF(name, expression) TP_LIST_UNARY(name)
#define TP_LIST_BINARY_OF(name, expression) TP_LIST_BINARY(name)
const ElementwiseFunction functions[] = {
    TP_UNARY_LIST(TP_LIST_UNARY) TP_SPECIAL_UNARY_LIST(TP_LIST_SPECIAL_UNARY)
        TP_BINARY_LIST(TP_LIST_BINARY) TP_SPECIAL_BINARY_LIST(TP_LIST_SPECIAL_BINARY) TP_LIST_UNARY(neg)
        TP_ARITHMETIC_LIST(TP_LIST_BINARY_OF) TP_COMPARISON_LIST(TP_LIST_BINARY_OF)
            TP_QUESTION_LIST(TP_LIST_UNARY_OF){"where", 3, where_loop<float>, where_loop<double>}};

#define TP_STRING(x) #x
#define TP_NAME_OF(x) TP_STRING(x)
const ElementwiseSet set = {TP_NAME_OF(TP_ISA), functions,
                            int(sizeof(functions) / sizeof(functions[0])), philox_loop,
                            row_functions, int(sizeof(row_functions) / sizeof(row_functions[0])),
                            window_plane<float>, window_plane<double>};

}  // namespace
}  // namespace tp
