// tp_math.h: every elementary function once, for float and double, scalars and vectors.
//
// In: tp_exp.h, tp_trig.h. Out: tp::exp, tp::sin, ... with the same bits in every lane, in scalar code, and on
// every instruction set: only exactly specified operations are used (+ - * / sqrt, fma written out, integers).
// Errors: float at most 1 ulp for the common functions and 2 for all, double at most 2 (tests measure it).
// Polynomials come from scripts/fit_polynomials.py; constants with several parts are the value, rounded,
// then what is left of it, rounded, and so on.
//
//     tp::exp(1.0f)    tp::exp(Vec<float, 16>)    tp::pow(x, y)    tp::floordiv(a, b)
#pragma once
#include "tp_trig.h"

namespace tp {
inline namespace TP_ISA {

// ----------------------------------------------------------------------------------- public names

// A pair of halves is done half by half: it needs fewer registers than both at once.
#define TP_UNARY(name)                                                                                                                           \
    template <class F> TP_INLINE F name(F x) {                                                                                                   \
        if constexpr (is_pair<F>) return {name(x.lo), name(x.hi)};                                                                               \
        else return name##_any(x);                                                                                                               \
    }
#define TP_BINARY(name)                                                                                                                          \
    template <class F> TP_INLINE F name(F x, F y) {                                                                                              \
        if constexpr (is_pair<F>) return {name(x.lo, y.lo), name(x.hi, y.hi)};                                                                   \
        else return name##_any(x, y);                                                                                                            \
    }
template <class F> TP_INLINE F sin_any(F x) { return sine<0>(x); }
template <class F> TP_INLINE F cos_any(F x) { return sine<1>(x); }
TP_UNARY(exp) TP_UNARY(exp2) TP_UNARY(expm1)
TP_UNARY(log) TP_UNARY(log2) TP_UNARY(log10) TP_UNARY(log1p)
TP_UNARY(sin) TP_UNARY(cos) TP_UNARY(tan)
TP_UNARY(asin) TP_UNARY(acos) TP_UNARY(atan)
TP_UNARY(sinh) TP_UNARY(cosh) TP_UNARY(tanh)
TP_UNARY(sigmoid) TP_UNARY(erf)
TP_UNARY(frexp_mantissa) TP_UNARY(frexp_exponent)
#define TP_UNARY_THROUGH_DOUBLE(name)                                                                                                            \
    template <class F> TP_INLINE F name(F x) {                                                                                                   \
        if constexpr (is_pair<F>) return {name(x.lo), name(x.hi)};                                                                               \
        else if constexpr (is_f32<F>) return convert_raw<float>(name(convert_raw<double>(x)));                                                   \
        else return name##_wide(x);                                                                                                              \
    }
TP_UNARY_THROUGH_DOUBLE(asinh) TP_UNARY_THROUGH_DOUBLE(acosh) TP_UNARY_THROUGH_DOUBLE(atanh) TP_UNARY_THROUGH_DOUBLE(erfc)
TP_UNARY_THROUGH_DOUBLE(erfinv)
TP_BINARY(atan2) TP_BINARY(hypot)
template <class X> TP_INLINE X pow(X x, X y) {
    if constexpr (!is_float<Lane<X>>) return integer_pow(x, y);
    else if constexpr (is_pair<X>) return {pow(x.lo, y.lo), pow(x.hi, y.hi)};
    else return pow_any(x, y);
}
#undef TP_UNARY
#undef TP_BINARY
#undef TP_UNARY_THROUGH_DOUBLE

// A copy of a function that is never inlined, for a kernel that calls it many times: the compiler then reads it once.
#define TP_OUT_OF_LINE(name)                                                                                                                     \
    template <class... X> static __attribute__((noinline)) auto name(X... x) { return tp::name(x...); }

}  // namespace TP_ISA
}  // namespace tp
