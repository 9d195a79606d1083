// tp_math.h: every elementary function once, for float and double, scalars and vectors.
//
// In: tp_vec.h. Out: tp::exp, tp::sin, ... with the same bits in every lane, in scalar code, and on every
// instruction set: only exactly specified operations are used (+ - * / sqrt, fma written out, integers).
// Errors: float at most 1 ulp for the common functions and 2 for all, double at most 2 (tests measure it).
// Polynomials come from scripts/fit_polynomials.py; constants with several parts are the value, rounded,
// then what is left of it, rounded, and so on.
//
//     tp::exp(1.0f)    tp::exp(Vec<float, 16>)    tp::pow(x, y)    tp::floordiv(a, b)
#pragma once
#include "tp_vec.h"

namespace tp {
inline namespace TP_ISA {

template <class X> constexpr bool is_pair = false;
template <class T, int N> constexpr bool is_pair<Vec<T, N, false>> = true;
template <class X> constexpr bool is_f32 = same<Lane<X>, float>;

// c0 + c1 x + c2 x^2 + ..., by Horner's rule with fma.
template <class F> TP_INLINE F horner(F, Lane<F> c0) { return F(c0); }
template <class F, class... C> TP_INLINE F horner(F x, Lane<F> c0, C... rest) { return fma(horner(x, (Lane<F>)rest...), x, F(c0)); }

template <class F> TP_INLINE Bits<F> sign_bit(F x) { return to_bits(x) & Bits<F>((Lane<Bits<F>>)((uint64_t)1 << (8 * sizeof(Lane<F>) - 1))); }
template <class X> TP_INLINE X abs(X x) {
    if constexpr (is_float<Lane<X>>) return from_bits(to_bits(x) & ~sign_bit(X((Lane<X>)-0.0)));
    else if constexpr (is_signed<Lane<X>>) return select(x < X((Lane<X>)0), X(-x), x);
    else return x;
}
template <class F> TP_INLINE F with_sign(F magnitude, Bits<F> sign) { return from_bits(to_bits(magnitude) | sign); }
template <class F> TP_INLINE F flip_sign(F x, Bits<F> sign) { return from_bits(to_bits(x) ^ sign); }
template <class F> TP_INLINE F copysign(F x, F y) { return with_sign(abs(x), sign_bit(y)); }

template <class F> TP_INLINE auto isnan(F x) { return x != x; }
template <class F> TP_INLINE auto isinf(F x) { return abs(x) == F((Lane<F>)__builtin_inf()); }
template <class F> TP_INLINE auto isfinite(F x) { return abs(x) < F((Lane<F>)__builtin_inf()); }
template <class F> TP_INLINE auto signbit(F x) { return to_bits(x) < Bits<F>(0); }

template <class F> TP_INLINE F round(F x) { return round_mode<0>(x); }  // ties to even
template <class F> TP_INLINE F floor(F x) { return round_mode<1>(x); }
template <class F> TP_INLINE F ceil(F x) { return round_mode<2>(x); }
template <class F> TP_INLINE F trunc(F x) { return round_mode<3>(x); }

// The larger: NaN where either is NaN, a where they are equal.
template <class X> TP_INLINE X maximum(X a, X b) {
    if constexpr (is_float<Lane<X>>) return select(b != b, b, raw_max(a, b));
    else return select(a < b, b, a);
}
template <class X> TP_INLINE X minimum(X a, X b) {
    if constexpr (is_float<Lane<X>>) return select(b != b, b, raw_min(a, b));
    else return select(b < a, b, a);
}
TP_INLINE bool maximum(bool a, bool b) { return a || b; }
TP_INLINE bool minimum(bool a, bool b) { return a && b; }
template <int W, int N> TP_INLINE Mask<W, N> maximum(Mask<W, N> a, Mask<W, N> b) { return a | b; }
template <int W, int N> TP_INLINE Mask<W, N> minimum(Mask<W, N> a, Mask<W, N> b) { return a & b; }
struct Max { template <class X> TP_METHOD X operator()(X a, X b) const { return maximum(a, b); } };
struct Min { template <class X> TP_METHOD X operator()(X a, X b) const { return minimum(a, b); } };
template <int W, int N> TP_INLINE bool reduce(Max, Mask<W, N> a) { return any(a); }
template <int W, int N> TP_INLINE bool reduce(Min, Mask<W, N> a) { return all(a); }

// b where only a is NaN, and the reverse.
template <class X> TP_INLINE X fmax(X a, X b) {
    if constexpr (is_float<Lane<X>>) return select(a != a, b, raw_max(a, b));
    else return maximum(a, b);
}
template <class X> TP_INLINE X fmin(X a, X b) {
    if constexpr (is_float<Lane<X>>) return select(a != a, b, raw_min(a, b));
    else return minimum(a, b);
}
// 0 where x < 0, else x: NaN and -0 stay.
template <class X> TP_INLINE X relu(X x) {
    if constexpr (is_signed<Lane<X>>) return raw_max(x, X((Lane<X>)0));
    else return x;
}
// (x > 0) - (x < 0): 0 for NaN and both zeros.
template <class X> TP_INLINE X sign(X x) {
    typedef Lane<X> T;
    const X zero((T)0), one((T)1);
    if constexpr (is_signed<T>) return select(x > zero, one, select(x < zero, X((T)-1), zero));
    else return select(x > zero, one, zero);
}
template <class X> TP_INLINE X square(X x) { return (X)(x * x); }
template <class M> TP_INLINE M logical_not(M x) { return !x; }
template <class X> TP_INLINE X bitwise_not(X x) { return (X)~x; }
TP_INLINE bool bitwise_not(bool x) { return !x; }

// The next float after a toward b.
template <class F> TP_INLINE F nextafter(F a, F b) {
    typedef Bits<F> B;
    typedef Lane<F> T;
    const B one((Lane<B>)1), bits = to_bits(a);
    const auto away = (a < b) == (a > F((T)0));  // the magnitude grows
    const F moved = from_bits(select(away, bits + one, bits - one));
    const F from_zero = copysign(from_bits(one), b);
    return select(a == b, b, select((a != a) | (b != b), a + b, select(a == F((T)0), from_zero, moved)));
}

template <class F> TP_INLINE F rsqrt(F x) { return F((Lane<F>)1) / sqrt(x); }
template <class F> TP_INLINE F reciprocal(F x) { return F((Lane<F>)1) / x; }

// ------------------------------------------------------------------------------- powers of two

template <class F> constexpr int mantissa_bits = is_f32<F> ? 23 : 52;
template <class F> constexpr int exponent_bias = is_f32<F> ? 127 : 1023;

// 2^k for a normal result.
template <class F> TP_INLINE F power_of_two(Bits<F> k) { return from_bits((k + Bits<F>((Lane<Bits<F>>)exponent_bias<F>)) << mantissa_bits<F>); }

// p * 2^k, rounded once, for p near 1 and k (also given as the number n) in twice the exponent range.
template <class F> TP_INLINE F scale(F p, Bits<F> k, F n) {
#if TP_GCC_X86 && TP_VECTOR_BYTES == 64
    if constexpr (Of<F>::lanes * sizeof(Lane<F>) == 64) {
        (void)k;
        if constexpr (is_f32<F>) return F(__builtin_ia32_scalefps512_mask(p.v, n.v, p.v, (uint16_t)-1, 4));
        else return F(__builtin_ia32_scalefpd512_mask(p.v, n.v, p.v, (uint8_t)-1, 4));
    }
#endif
    (void)n;
    const Bits<F> half_k = k >> 1;
    return p * power_of_two<F>(half_k) * power_of_two<F>(k - half_k);
}

// x = n * unit + r with an integer n, |r| <= unit / 2; unit = parts[0] + parts[1].
template <class F> struct Reduced { F r; F n; Bits<F> k; };
template <class F> TP_INLINE Reduced<F> reduce_by(F x, Lane<F> inverse, Lane<F> high, Lane<F> low) {
    const F magic(is_f32<F> ? (Lane<F>)12582912.0 : (Lane<F>)6755399441055744.0);  // 1.5 * 2^(mantissa bits)
    const F shifted = fma(x, F(inverse), magic);
    const F n = shifted - magic;
    return {fma(n, F(-low), fma(n, F(-high), x)), n, to_bits(shifted) - to_bits(magic)};
}
template <class F> TP_INLINE Reduced<F> reduce_by_ln2(F x) {
    if constexpr (is_f32<F>) return reduce_by(x, 0x1.715476p+0f, 0x1.62e43p-1f, -0x1.05c61p-29f);
    else return reduce_by(x, 0x1.71547652b82fep+0, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);
}
// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class F> TP_INLINE F exp_tail(F r) {
    if constexpr (is_f32<F>) return horner(r, 5.0e-1f, 1.66665196e-1f, 4.16664034e-2f, 8.3688302e-3f, 1.39405369e-3f);
    else
        return horner(r, 5.0000000000000133e-1, 1.666666666666668e-1, 4.1666666666511226e-2, 8.3333333333187407e-3, 1.3888888948016959e-3,
                      1.9841269893690943e-4, 2.4801488969695072e-5, 2.7557236647188781e-6, 2.7631611912011306e-7, 2.5111616070796979e-8);
}
template <class F> TP_INLINE F exp_reduced(F r) { return fma(r * r, exp_tail(r), r) + F((Lane<F>)1); }
// The same, with the rounding of 1 + r made good: 0.6 instead of 0.8 ulp.
template <class F> TP_INLINE F exp_accurate(F r) {
    const F one((Lane<F>)1), start = one + r;
    return start + fma(r * r, exp_tail(r), r - (start - one));
}

// Beyond these the result is 0 or infinity; a NaN passes through.
template <class F> TP_INLINE F clamp_exponent(F x, Lane<F> low, Lane<F> high) { return raw_max(raw_min(x, F(high)), F(low)); }

template <class F> TP_INLINE F exp_any(F x) {
    const F bounded = is_f32<F> ? clamp_exponent(x, (Lane<F>)-104, (Lane<F>)89) : clamp_exponent(x, (Lane<F>)-746, (Lane<F>)710);
    const Reduced<F> s = reduce_by_ln2(bounded);
    return scale(exp_reduced(s.r), s.k, s.n);
}

// e^(x + low) for a small correction.
template <class F> TP_INLINE F exp_sum(F x, F low) {
    const Reduced<F> s = reduce_by_ln2(x);
    const F p = exp_reduced(s.r);
    return scale(fma(p, low, p), s.k, s.n);
}

template <class F> TP_INLINE F exp2_any(F x) {
    const F bounded = is_f32<F> ? clamp_exponent(x, (Lane<F>)-151, (Lane<F>)128) : clamp_exponent(x, (Lane<F>)-1076, (Lane<F>)1024);
    const Reduced<F> s = reduce_by(bounded, (Lane<F>)1, (Lane<F>)1, (Lane<F>)0);
    F q;
    if constexpr (is_f32<F>) q = horner(s.r, 6.93147182e-1f, 2.40226507e-1f, 5.55035919e-2f, 9.61807184e-3f, 1.33911474e-3f, 1.54587964e-4f);
    else
        q = horner(s.r, 6.9314718055994529e-1, 2.4022650695910119e-1, 5.550410866482261e-2, 9.6181291075976699e-3, 1.3333558146255452e-3,
                   1.540353045351801e-4, 1.52527339487575e-5, 1.3215436787916393e-6, 1.017802131836966e-7, 7.0735591200528154e-9,
                   4.4603596097420854e-10);
    return scale(fma(s.r, q, F((Lane<F>)1)), s.k, s.n);
}

// e^x - 1 = s (e^r - 1) + (s - 1), s = 2^k; half of it, so that s stays finite. x must be in range.
template <class F> TP_INLINE F half_expm1(F x) {
    const Reduced<F> s = reduce_by_ln2(x);
    const F q = fma(s.r * s.r, exp_tail(s.r), s.r);
    const F half_s = power_of_two<F>(s.k - Bits<F>(1));
    return fma(half_s, q, half_s - F((Lane<F>)0.5));
}
template <class F> TP_INLINE F expm1_any(F x) {
    const F h = half_expm1(is_f32<F> ? clamp_exponent(x, (Lane<F>)-20, (Lane<F>)89) : clamp_exponent(x, (Lane<F>)-40, (Lane<F>)710));
    return with_sign(h + h, sign_bit(x));
}

// ------------------------------------------------------------------------------------ logarithms

// x = 2^k (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]; `correction` is added to x where that is exact to do.
template <class F> struct Split { F f; F k; };
template <class F> TP_INLINE Split<F> split_exponent(F x) {
    typedef Bits<F> B;
    const B root_half((Lane<B>)(is_f32<F> ? 0x3f3504f3 : 0x3fe6a09e667f3bcd));
    const B bits = to_bits(x);
    const B k = (bits - root_half) >> mantissa_bits<F>;
    const F m = from_bits(bits - (k << mantissa_bits<F>));
    return {m - F((Lane<F>)1), convert_raw<Lane<F>>(k)};
}
template <class F> TP_INLINE Split<F> split_positive(F x) {  // x > 0, subnormal too
    const F least(is_f32<F> ? (Lane<F>)0x1p-126 : (Lane<F>)0x1p-1022);
    const auto small = x < least;
    const F up(is_f32<F> ? (Lane<F>)0x1p23 : (Lane<F>)0x1p52);
    Split<F> s = split_exponent(select(small, x * up, x));
    s.k = s.k - select(small, F((Lane<F>)mantissa_bits<F>), F((Lane<F>)0));
    return s;
}
// log(1 + f) = f + y.
template <class F> TP_INLINE F log_tail(F f) {
    if constexpr (is_f32<F>) {
        const F z = f * f;
        const F p = horner(f, 3.33333164e-1f, -2.50008106e-1f, 2.00022995e-1f, -1.66245431e-1f, 1.41811147e-1f, -1.31290004e-1f, 1.28812224e-1f, -7.85732567e-2f);
        return fma(F(-0.5f), z, f * p * z);
    } else {
        // With s = f / (2 + f): log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)).
        const F s = f / (F(2.0) + f);
        const F z = s * s;
        const F R = z * horner(z, 6.6666666666667362e-1, 3.999999999940298e-1, 2.8571428744974381e-1, 2.2222198305108068e-1, 1.818357851413121e-1,
                               1.5313679249177664e-1, 1.4799758499697047e-1);
        const F half_square = F(0.5) * f * f;
        return fma(s, half_square + R, -half_square);
    }
}
// k log(2) + log(1 + f)
template <class F> TP_INLINE F log_of_split(Split<F> s) {
    if constexpr (is_f32<F>) {
        const F y = fma(s.k, F(-0x1.05c61p-29f), log_tail(s.f));
        return fma(s.k, F(0x1.62e43p-1f), s.f + y);
    } else {
        const F y = fma(s.k, F(0x1.abc9e3b39803fp-56), log_tail(s.f));
        return fma(s.k, F(0x1.62e42fefa39efp-1), s.f + y);
    }
}
// k * unit + log(1 + f) * factor, each constant in two parts.
template <class F> TP_INLINE F log_scaled(Split<F> s, Lane<F> factor, Lane<F> factor_low, Lane<F> unit, Lane<F> unit_low) {
    const F y = log_tail(s.f);
    const F product = s.f * F(factor);
    const F rest = fma(y, F(factor), fma(s.f, F(factor), -product)) + s.f * F(factor_low) + s.k * F(unit_low);
    const F whole = s.k * F(unit);
    const F sum = whole + product;
    return sum + ((whole - sum) + product + rest + fma(s.k, F(unit), -whole));
}
// What a logarithm of u is where u is not positive and finite.
template <class F> TP_INLINE F log_special(F u, F result) {
    typedef Lane<F> T;
    const F infinity((T)__builtin_inf());
    const F other = select(u == F((T)0), -infinity, select(u < F((T)0), F((T)__builtin_nan("")), u));
    return select((u > F((T)0)) & (u < infinity), result, other);
}

template <class F> TP_INLINE F log_any(F x) { return log_special(x, log_of_split(split_positive(x))); }
template <class F> TP_INLINE F log2_any(F x) {
    const Split<F> s = split_positive(x);
    if constexpr (is_f32<F>) return log_special(x, log_scaled(s, 0x1.715476p+0f, 0x1.4ae0cp-26f, 1.0f, 0.0f));
    else return log_special(x, log_scaled(s, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0));
}
template <class F> TP_INLINE F log10_any(F x) {
    const Split<F> s = split_positive(x);
    if constexpr (is_f32<F>) return log_special(x, log_scaled(s, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f, 0x1.344136p-2f, -0x1.ec10cp-27f));
    else return log_special(x, log_scaled(s, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59));
}
template <class F> TP_INLINE F log1p_any(F x) {
    typedef Lane<F> T;
    const F u = F((T)1) + x;
    Split<F> s = split_exponent(u);
    // 1 + f = (1 + x) 2^-k in one rounding. Beyond 2^60 (2^30) u is x, and 2^-k may be no normal number.
    const F bounded_k = raw_min(s.k, F((T)60));
    const F down = power_of_two<F>(convert_raw<Lane<Bits<F>>>(-bounded_k));
    s.f = select(u > F(is_f32<F> ? (T)0x1p30 : (T)0x1p59), s.f, fma(x, down, down - F((T)1)));
    return from_bits(to_bits(log_special(u, log_of_split(s))) | (sign_bit(x) & ~(to_bits(u) >> (8 * (int)sizeof(T) - 1))));
}

// ------------------------------------------------------------------------------- sine and cosine

// The quadrant (modulo 4) and the rest of |x|: x = q pi/2 + (r + r_low), |r| <= pi/4.
template <class D> struct Angle { D r; D r_low; Bits<D> q; };

// For large |x|: multiply by as many digits of 2/pi as matter (Payne and Hanek, SIGNUM 18, 1983).
static __attribute__((noinline, cold)) Angle<double> reduce_large(double x) {
    static const uint64_t digits[] = {  // 0, then 2/pi as a binary fraction
        0, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull,
        0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
        0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull,
        0x56033046fc7b6babull, 0xf0cfbc209af4361dull};
    typedef unsigned __int128 u128;
    const int64_t bits = to_bits(x);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1075;  // |x| = mantissa * 2^exponent
    if (exponent == 972) return {x - x, 0.0, 0};            // infinity
    const uint64_t mantissa = ((uint64_t)bits & 0xfffffffffffffull) | 0x10000000000000ull;
    // Digits above 2^2 / 2^exponent only add multiples of 4. Three words from there on:
    const int start = exponent - 2 + 64;
    const int word = start >> 6, shift = start & 63;
    uint64_t w[3];
    for (int i = 0; i < 3; i++) w[i] = shift ? digits[word + i] << shift | digits[word + i + 1] >> (64 - shift) : digits[word + i];
    const u128 p2 = (u128)mantissa * w[2], p1 = (u128)mantissa * w[1] + (uint64_t)(p2 >> 64);
    uint64_t high = mantissa * w[0] + (uint64_t)(p1 >> 64), middle = (uint64_t)p1, low = (uint64_t)p2;
    // The product modulo 4, as 2 bits and a fraction of 190.
    int64_t q = (int64_t)(high >> 62);
    high = high << 2 | middle >> 62;
    middle = middle << 2 | low >> 62;
    low <<= 2;
    const bool above_half = high >> 63;
    if (above_half) {  // fraction - 1
        q++;
        low = ~low, middle = ~middle, high = ~high;  // short by one unit of 2^-192
    }
    int shifted = 0;
    while (high == 0 && shifted < 128) high = middle, middle = low, low = 0, shifted += 64;
    const int zeros = high ? __builtin_clzll(high) : 0;
    if (zeros) high = high << zeros | middle >> (64 - zeros), middle <<= zeros;
    shifted += zeros;
    const double unit = power_of_two<double>(-(int64_t)shifted) * (above_half ? -1.0 : 1.0);
    const double f = (double)(high >> 11) * 0x1p-53 * unit;
    const double f_low = (double)((high & 0x7ff) << 42 | middle >> 22) * 0x1p-106 * unit;
    const double product = f * 0x1.921fb54442d18p+0;
    const double rest = fma(f, 0x1.921fb54442d18p+0, -product) + (f * 0x1.1a62633145c07p-54 + f_low * 0x1.921fb54442d18p+0);
    const double r = product + rest;
    return {r, (product - r) + rest, q};
}

// For a double x >= 0. |x| < 2^27 by three parts of pi/2; n is exact, and so is the first step.
template <class D> TP_INLINE Angle<D> reduce_angle(D x) {
    const D magic(6755399441055744.0);
    const D shifted = fma(x, D(0x1.45f306dc9c883p-1), magic);
    const D n = shifted - magic;
    const D first = fma(n, D(-0x1.921fb54442d18p+0), x);
    const D product = n * D(0x1.1a62633145c07p-54);
    const D error = fma(n, D(0x1.1a62633145c07p-54), -product);
    const D r = first - product;
    const D back = r - first;
    const D r_low = ((first - (r - back)) - (product + back)) - error + n * D(0x1.f1976b7ed8fbcp-110);
    return {r, r_low, to_bits(shifted) - to_bits(magic)};
}
// The float version needs no low part: the residual of a float is never below 2^-31 or so.
template <class D> TP_INLINE Angle<D> reduce_angle_short(D x) {
    const D magic(6755399441055744.0);
    const D shifted = fma(x, D(0x1.45f306dc9c883p-1), magic);
    const D n = shifted - magic;
    return {fma(n, D(-0x1.1a62633145c07p-54), fma(n, D(-0x1.921fb54442d18p+0), x)), D(0.0), to_bits(shifted) - to_bits(magic)};
}
// Out of line: a body with many sines would take seconds to compile otherwise.
template <class D, class M> static __attribute__((noinline, cold)) Angle<D> with_large_lanes(Angle<D> angle, D x, M large) {
    if constexpr (Of<D>::lanes == 1) {
        return reduce_large(x);
    } else {
        for (int i = 0; i < Of<D>::lanes; i++)
            if (large[i]) {
                const Angle<double> one = reduce_large(x[i]);
                angle.r.set(i, one.r);
                angle.r_low.set(i, one.r_low);
                angle.q.set(i, one.q);
            }
        return angle;
    }
}
template <class D, class M> TP_INLINE void replace_large(Angle<D>& angle, D x, M large) {
    if (__builtin_expect(any(large), 0)) angle = with_large_lanes(angle, x, large);
}

// sin and cos of r + r_low, |r| <= pi/4.
template <class F> TP_INLINE F sin_reduced(F r, F r_low) {
    const F z = r * r;
    if constexpr (is_f32<F>) return fma(r * z, horner(z, -1.66666552e-1f, 8.3321901e-3f, -1.95184097e-4f), r);
    else {
        const F p = horner(z, -1.6666666666666632e-1, 8.33333333332246e-3, -1.9841269829819219e-4, 2.7557313689835289e-6, -2.5050757086104346e-8, 1.5896703825008873e-10);
        return r + fma(r * z, p, fma(z, F(-0.5) * r_low, r_low));
    }
}
template <class F> TP_INLINE F cos_reduced(F r, F r_low) {
    const F z = r * r;
    if constexpr (is_f32<F>) return fma(z * z, horner(z, 4.16666456e-2f, -1.38873013e-3f, 2.44306775e-5f), fma(z, F(-0.5f), F(1.0f)));
    else {
        const F p = horner(z, 4.1666666666666602e-2, -1.3888888888874441e-3, 2.4801587289636341e-5, -2.7557314387512706e-7, 2.0875727072554155e-9, -1.1359803673240205e-11);
        const F half_z = F(0.5) * z;
        const F w = F(1.0) - half_z;
        return w + (((F(1.0) - w) - half_z) + fma(z * z, p, -(r * r_low)));
    }
}

// sin(x + shift pi/2).
template <int shift, class F> TP_INLINE F sine(F x) {
    const F magnitude = abs(x);
    F r, r_low;
    Bits<F> q;
    if constexpr (is_f32<F>) {
        const auto wide = convert_raw<double>(magnitude);
        auto angle = reduce_angle_short(wide);
        replace_large(angle, wide, magnitude >= F(0x1p28f));
        r = convert_raw<float>(angle.r);
        r_low = F(0.0f);
        q = convert_raw<int32_t>(angle.q);
    } else {
        auto angle = reduce_angle(magnitude);
        replace_large(angle, magnitude, magnitude >= F(0x1p27));
        r = angle.r;
        r_low = angle.r_low;
        q = angle.q;
    }
    typedef Lane<Bits<F>> I;
    const Bits<F> turned = q + Bits<F>((I)shift);
    const F result = select((turned & Bits<F>((I)1)) != Bits<F>((I)0), cos_reduced(r, r_low), sin_reduced(r, r_low));
    const Bits<F> negative = (turned & Bits<F>((I)2)) << (8 * (int)sizeof(I) - 2);
    return flip_sign(result, shift ? negative : negative ^ sign_bit(x));
}
template <class D> TP_INLINE D tan_wide(Angle<D> angle, Bits<D> sign) {
    const D s = sin_reduced(angle.r, angle.r_low), c = cos_reduced(angle.r, angle.r_low);
    const auto odd = (angle.q & Bits<D>((int64_t)1)) != Bits<D>((int64_t)0);
    return flip_sign(select(odd, -c, s) / select(odd, s, c), sign);
}
template <class F> TP_INLINE F tan_any(F x) {
    const F magnitude = abs(x);
    if constexpr (is_f32<F>) {
        const auto wide = convert_raw<double>(magnitude);
        auto angle = reduce_angle_short(wide);
        replace_large(angle, wide, magnitude >= F(0x1p28f));
        return flip_sign(convert_raw<float>(tan_wide(angle, Like<int64_t, F>((int64_t)0))), sign_bit(x));
    } else {
        auto angle = reduce_angle(magnitude);
        replace_large(angle, magnitude, magnitude >= F(0x1p27));
        return tan_wide(angle, sign_bit(x));
    }
}

// --------------------------------------------------------------------- inverse circular functions

// (asin(s) - s) / (s z) for 0 <= s <= 1/2, z = s * s
template <class F> TP_INLINE F asin_tail(F z) {
    if constexpr (is_f32<F>) return horner(z, 1.66667536e-1f, 7.49525502e-2f, 4.54755202e-2f, 2.41550598e-2f, 4.22063358e-2f);
    else
        return horner(z, 1.6666666666666763e-1, 7.4999999999702027e-2, 4.4642857175148744e-2, 3.0381942683034624e-2, 2.2372215662924907e-2,
                      1.735160022467291e-2, 1.3980958164948909e-2, 1.139781430825516e-2, 1.0786259821192938e-2, 3.684237060256747e-3,
                      2.1760211333647521e-2, -2.1072163718273539e-2, 3.2673417805685771e-2);
}
template <class F> constexpr Lane<F> half_pi = is_f32<F> ? (Lane<F>)0x1.921fb6p+0 : (Lane<F>)0x1.921fb54442d18p+0;
template <class F> constexpr Lane<F> half_pi_low = is_f32<F> ? (Lane<F>)-0x1.777a5cp-25 : (Lane<F>)0x1.1a62633145c07p-54;
// asin(|x|) = s + rest up to 1/2, beyond it pi/2 - 2 (s + rest) with s = sqrt((1 - |x|) / 2).
template <class F> struct ArcSine { MaskOf<F> big; F s, rest; };
template <class F> TP_INLINE ArcSine<F> arc_sine(F a) {
    typedef Lane<F> T;
    const MaskOf<F> big = a > F((T)0.5);
    const F z = select(big, (F((T)1) - a) * F((T)0.5), a * a);
    const F root = sqrt(z);
    const F s = select(big, root, a);
    const F root_low = select(big & (root > F((T)0)), fma(-root, root, z) / (root + root), F((T)0));
    return {big, s, fma(s * z, asin_tail(z), root_low)};
}
template <class F> TP_INLINE F asin_any(F x) {
    const ArcSine<F> p = arc_sine(abs(x));
    const F far = F(half_pi<F>) - (p.s + p.s - (F(half_pi_low<F>) - (p.rest + p.rest)));
    return with_sign(select(p.big, far, p.s + p.rest), sign_bit(x));
}
template <class F> TP_INLINE F acos_any(F x) {
    const ArcSine<F> p = arc_sine(abs(x));
    const F near_zero = F(half_pi<F>) - (x - (F(half_pi_low<F>) - flip_sign(p.rest, sign_bit(x))));
    const F twice = p.s + p.s, twice_rest = p.rest + p.rest;
    const F far = select(x < F((Lane<F>)0), F(2 * half_pi<F>) - (twice - (F(2 * half_pi_low<F>) - twice_rest)), twice + twice_rest);
    return select(p.big, far, near_zero);
}

// The angle of (den, num), 0 <= num <= den.
template <class F> TP_INLINE F atan_ratio(F num, F den) {
    if constexpr (is_f32<F>) {
        const F t = num / den;
        const F z = t * t;
        const F p = horner(z, -3.33333015e-1f, 1.99986264e-1f, -1.42651051e-1f, 1.09568112e-1f, -8.41715932e-2f, 5.81943356e-2f, -3.14149559e-2f, 1.10422671e-2f, -1.82220072e-3f);
        return fma(t * z, p, t);
    } else {
        // Beyond tan(pi/8), from the diagonal: pi/4 + atan((num - den) / (num + den)).
        const auto far = num > den * F(0x1.a827999fcef32p-2);
        const F t = select(far, num - den, num) / select(far, num + den, den);
        const F z = t * t;
        const F p = horner(z, -3.3333333333333326e-1, 1.9999999999997109e-1, -1.4285714285319551e-1, 1.1111111084021048e-1, -9.0909079983516716e-2,
                           7.69227953486884e-2, -6.6661802851182533e-2, 5.8765771561518854e-2, -5.215605167182296e-2, 4.4924078379377778e-2,
                           -3.322033618512843e-2, 1.4942100854579686e-2);
        const F tail = t * z * p;
        return select(far, F(0x1.921fb54442d18p-1) + (t + (tail + F(0x1.1a62633145c07p-55))), t + tail);
    }
}
template <class F> TP_INLINE F atan_any(F x) {
    typedef Lane<F> T;
    const F a = abs(x), one((T)1);
    const auto steep = a > one;
    const F p = select(steep, atan_ratio(select(steep, one / a, a), one), atan_ratio(a, one));
    return with_sign(select(steep, F(half_pi<F>) - (p - F(half_pi_low<F>)), p), sign_bit(x));
}
template <class D> TP_INLINE D atan2_wide(D y, D x) {
    D ay = abs(y), ax = abs(x);
    const D infinity(__builtin_inf());
    const auto both_infinite = (ay == infinity) & (ax == infinity);
    const D down = select((ay > D(0x1p1000)) | (ax > D(0x1p1000)), D(0x1p-10), D(1.0));
    ay = select(both_infinite, D(1.0), ay * down);
    ax = select(both_infinite, D(1.0), ax * down);
    const auto steep = ay > ax;
    const D num = select(steep, ax, ay), den = select(steep, ay, ax);
    D p = select(den == D(0.0), D(0.0), atan_ratio(num, den));
    p = select(steep, D(half_pi<double>) - (p - D(half_pi_low<double>)), p);
    p = select(to_bits(x) < Bits<D>((int64_t)0), D(2 * half_pi<double>) - (p - D(2 * half_pi_low<double>)), p);
    return select((x != x) | (y != y), x + y, with_sign(p, sign_bit(y)));
}
template <class F> TP_INLINE F atan2_any(F y, F x) {
    if constexpr (is_f32<F>) return convert_raw<float>(atan2_wide(convert_raw<double>(y), convert_raw<double>(x)));
    else return atan2_wide(y, x);
}

// ----------------------------------------------------------------------------- hyperbolic functions

template <class F> TP_INLINE F tanh_any(F x) {
    typedef Lane<F> T;
    const F a = raw_min(abs(x), F(is_f32<F> ? (T)10 : (T)20)), z = a * a;
    const F h = half_expm1(a + a);  // tanh = expm1(2a) / (expm1(2a) + 2)
    F p;
    if constexpr (is_f32<F>) p = horner(z, -3.33333284e-1f, 1.33330122e-1f, -5.39043434e-2f, 2.13206429e-2f, -6.68255985e-3f);
    else
        p = horner(z, -3.3333333333333171e-1, 1.3333333333301309e-1, -5.39682539464508e-2, 2.1869487800565742e-2, -8.8632212446482471e-3,
                   3.5919558955166764e-3, -1.4545008472546155e-3, 5.8334134221371681e-4, -2.1790809755583502e-4, 5.6862487867573406e-5);
    return with_sign(select(a < F((T)0.5), fma(a * z, p, a), h / (h + F((T)1))), sign_bit(x));
}
// e^|x| / 2 without overflow before its time.
template <class F> TP_INLINE F half_exp(F a) {
    const F bounded = raw_min(a, F(is_f32<F> ? (Lane<F>)90 : (Lane<F>)711));
    const Reduced<F> s = reduce_by_ln2(bounded);
    return scale(exp_reduced(s.r), s.k - Bits<F>(1), s.n - F((Lane<F>)1));
}
template <class F> TP_INLINE F sinh_any(F x) {
    typedef Lane<F> T;
    const F a = abs(x), z = x * x;
    F p;
    if constexpr (is_f32<F>) p = horner(z, 1.66666672e-1f, 8.33331142e-3f, 1.98426351e-4f, 2.78392531e-6f);
    else
        p = horner(z, 1.6666666666666669e-1, 8.3333333333329151e-3, 1.984126984158935e-4, 2.7557319108382472e-6, 2.5052130706252822e-8,
                   1.6056683449749241e-10, 7.7758430777336605e-13);
    const F h = half_exp(a);
    return with_sign(select(a < F((T)1), fma(a * z, p, a), h - F((T)0.25) / h), sign_bit(x));
}
template <class F> TP_INLINE F cosh_any(F x) {
    const F h = half_exp(abs(x));
    return h + F((Lane<F>)0.25) / h;
}
template <class D> TP_INLINE D asinh_wide(D x) {
    const D a = abs(x), z = a * a;
    const D near_result = log1p_any(a + z / (D(1.0) + sqrt(z + D(1.0))));
    const D far_result = log_any(a) + D(0x1.62e42fefa39efp-1);
    return with_sign(select(a > D(0x1p28), far_result, near_result), sign_bit(x));
}
template <class D> TP_INLINE D acosh_wide(D x) {
    const D t = x - D(1.0);
    const D result = select(x > D(0x1p28), log_any(x) + D(0x1.62e42fefa39efp-1), log1p_any(t + sqrt(fma(t, t, t + t))));
    return select(x < D(1.0), D(__builtin_nan("")), result);
}
template <class D> TP_INLINE D atanh_wide(D x) {
    const D a = abs(x);
    return with_sign(D(0.5) * log1p_any((a + a) / (D(1.0) - a)), sign_bit(x));
}
// e / (1 + e) or 1 / (1 + e), e = e^-|x| <= 1; both roundings of 1 + e and of e count, so each is made good.
template <class F> TP_INLINE F sigmoid_any(F x) {
    typedef Lane<F> T;
    const F one((T)1);
    const Reduced<F> s = reduce_by_ln2(raw_max(-abs(x), F(is_f32<F> ? (T)-104 : (T)-746)));
    const F e = scale(exp_accurate(s.r), s.k, s.n);
    const F sum = one + e;
    const F lost = (one - sum) + e;
    const auto negative = x < F((T)0);
    const F q = select(negative, e, one) / sum;
    return fma(-q * lost, select(negative, one - q, q), q);
}

// ---------------------------------------------------------------------------------- error function

template <class F> TP_INLINE F erf_near(F x) {  // |x| <= 1
    const F z = x * x;
    if constexpr (is_f32<F>) return fma(x, horner(z, 1.28379166e-1f, -3.76126289e-1f, 1.12836182e-1f, -2.6855126e-2f, 5.19073382e-3f, -8.03075673e-4f, 7.92034334e-5f), x);
    else
        return fma(x, horner(z, 1.2837916709551259e-1, -3.7612638903184104e-1, 1.1283791670971682e-1, -2.6866170648197754e-2, 5.2239776547950015e-3,
                             -8.5483286804259985e-4, 1.2055392215159248e-4, -1.4927041684876072e-5, 1.6483845398892142e-6, -1.6588674115776819e-7,
                             1.6237220248584456e-8, -1.7370763530325986e-9, 1.5936251565278175e-10), x);
}
// erfc(x) = e^(-x^2) Q(t) / (1 + 2x), t = (x - 4) / (x + 4), for x >= 1/2 (Shepherd and Laframboise, Math. Comp. 36, 1981).
template <class D> TP_INLINE D erfc_far(D x) {
    const D bounded = raw_min(x, D(28.0));
    const D t = (bounded - D(4.0)) / (bounded + D(4.0));
    const D slope = horner(t, -1.3962111684056253e-1, 1.5379652102598467e-2, 6.8097054254694617e-2, -1.0103906603463221e-1,
                       9.3732834998259962e-2, -6.6330365863800228e-2, 3.7167515539370068e-2, -1.6197733235191344e-2, 5.0319699563947939e-3,
                       -7.5778103000687916e-4, -1.9925654842036652e-4, 1.506678583481501e-4, -2.4399820987470167e-5, -1.1403359216893534e-5,
                       5.7112671603307911e-6, 7.6859797976549895e-7, -8.2766611321815866e-7, -7.4608271108848975e-7, 1.1163009518337585e-7,
                       8.8118932859662276e-7, -1.4223874753621573e-8, -5.6356933674759587e-7, 9.5734647666511449e-10, 1.5542192402143969e-7);
    const D square = bounded * bounded;
    const D e_low = -fma(bounded, bounded, -square);
    const D step = t * slope;
    const D q = D(1.2329951186255526) + step;
    const D q_low = ((D(1.2329951186255526) - q) + step) + fma(t, slope, -step);
    const D d = D(1.0) + (bounded + bounded);
    const D d_low = (bounded + bounded) - (d - D(1.0));
    const Reduced<D> s = reduce_by_ln2(-square);
    const D p = exp_accurate(s.r), ratio = q / d;
    const D product = p * ratio;
    // What the roundings of x^2, 1 + 2x, Q and the product lost, relative to the result.
    const D lost = e_low + (q_low / q - d_low / d);
    const D rest = fma(product, lost, fma(p, ratio, -product));
    return scale(product + rest, s.k, s.n);
}
template <class F> TP_INLINE F erf_any(F x) {
    typedef Lane<F> T;
    const F a = abs(x);
    F far;
    if constexpr (is_f32<F>) {
        // erf = 1 - e^-p(a)
        const F p = horner(raw_min(a, F(4.0f)), -1.87923259e-4f, 1.12957788f, 6.33220971e-1f, 1.08417436e-1f, -2.52075568e-2f, 4.2043142e-3f, -4.4129006e-4f, 2.16833632e-5f);
        const Reduced<F> s = reduce_by_ln2(-p);
        far = F(1.0f) - exp_reduced(s.r) * power_of_two<F>(s.k);
    } else {
        far = F(1.0) - erfc_far(a);
    }
    return with_sign(select(a < F((T)1), erf_near(a), select(a == a, far, a)), sign_bit(x));
}
template <class D> TP_INLINE D erfc_wide(D x) {
    const D a = abs(x);
    const D tail = erfc_far(a);
    const D far = select(x < D(0.0), D(2.0) - tail, tail);
    return select(a == a, select(a < D(0.5), D(1.0) - erf_near(x), far), x);
}

// A polynomial in w = -log(1 - x^2), then one step of Halley's method, which cubes the error.
template <class D> TP_INLINE D erfinv_wide(D x) {
    const D a = abs(x), one(1.0);
    const D w = -log_any((one - a) * (one + a));
    const D root = sqrt(w);
    const D middle = horner(w, 8.8622692843840445e-1, 2.3201351470886822e-1, 1.1550619466557581e-2, -2.3392931391982854e-3, -1.2099477136749282e-4,
                            3.9714611247473053e-5, 6.1946104736423603e-6, -2.6008918345187486e-6, 3.2761925244757444e-7, -1.88652366309484e-8,
                            4.0466066698604901e-10);
    const D tail = horner(root, 2.3077043798803261, -2.8054597685542193, 2.1737885921469617, -3.4953337612739832e-1, -2.2092853837048812e-1,
                          1.5191477405756931e-1, -4.4817330763999803e-2, 7.7154383006627428e-3, -8.0134301927419242e-4, 4.6766265028820686e-5,
                          -1.1827654991187875e-6);
    const D y = a * select(w < D(5.0), middle, tail);
    const D error = select(a < D(0.75), erf_near(y) - a, (one - a) - erfc_far(y));
    const D step = error * D(0x1.c5bf891b4ef6bp-1) * exp_any(y * y);  // sqrt(pi) / 2
    const D better = y - step / (one + step * y);
    const D result = select(a < one, better, select(a == one, D(__builtin_inf()), D(__builtin_nan(""))));
    return with_sign(result, sign_bit(x));
}

// -------------------------------------------------------------------------------------------- power

template <class D> struct Double2 { D high, low; };
template <class D> TP_INLINE Double2<D> two_product(D a, D b) {
    const D p = a * b;
    return {p, fma(a, b, -p)};
}
template <class D> TP_INLINE Double2<D> quick_sum(D a, D b) {  // |a| >= |b| or a = 0
    const D s = a + b;
    return {s, b - (s - a)};
}
// log(x) to about 2^-65 of itself, x > 0 and finite.
template <class D> TP_INLINE Double2<D> log_double2(D x) {
    const Split<D> split = split_positive(x);
    const D f = split.f;
    const Double2<D> d = quick_sum(D(2.0), f);
    const D s = f / d.high;
    const D s_low = (fma(-s, d.high, f) - s * d.low) / d.high;
    Double2<D> z = two_product(s, s);
    z.low = z.low + D(2.0) * s * s_low;
    // log(1 + f) = 2s + s z (2/3 + z W(z))
    const D w = z.high * horner(z.high, 4.0000000000000002e-1, 2.8571428571426888e-1, 2.2222222222716259e-1, 1.8181818106107808e-1,
                                1.5384622173113244e-1, 1.3332960819515163e-1, 1.1777231214807098e-1, 1.0279716096284258e-1, 1.2022558123139265e-1);
    Double2<D> t = quick_sum(D(0x1.5555555555555p-1), w);
    t.low = t.low + D(0x1.5555555555555p-55);
    Double2<D> u = two_product(z.high, t.high);
    u.low = u.low + fma(z.high, t.low, z.low * t.high);
    Double2<D> v = two_product(s, u.high);
    v.low = v.low + fma(s, u.low, s_low * u.high);
    const Double2<D> log_m = quick_sum(s + s, v.high);
    const D log_m_low = log_m.low + (v.low + (s_low + s_low));
    const D k_part = split.k * D(0x1.62e42fefa4p-1);  // exact: 41 bits by 11
    const Double2<D> sum = quick_sum(k_part, log_m.high);
    const D low = sum.low + (log_m_low + split.k * D(-0x1.8432a1b0e2634p-43));
    return quick_sum(sum.high, low);
}
// |x|^y for x of any size; the caller mends signs, NaN, x = 1, y = 0.
template <class D> TP_INLINE D pow_magnitude(D a, D y) {
    const D infinity(__builtin_inf());
    const Double2<D> l = log_double2(a);
    const auto ordinary = (a > D(0.0)) & (a < infinity);
    const D high = select(ordinary, l.high, select(a == D(0.0), -infinity, a));
    const D low = select(ordinary, l.low, D(0.0));
    const D power = clamp_exponent(y, -0x1p66, 0x1p66);
    const D e = power * high;
    const D e_low = fma(power, high, -e) + power * low;
    const auto inside = abs(e) < D(800.0);
    const D result = exp_sum(select(inside, e, D(0.0)), select(inside, e_low, D(0.0)));
    return select(inside, result, select(e > D(0.0), infinity, select(e == e, D(0.0), e)));
}
template <class D> TP_INLINE D pow_magnitude_short(D a, D y) {  // enough for floats
    const D e = clamp_exponent(clamp_exponent(y, -0x1p66, 0x1p66) * log_any(a), -746.0, 710.0);
    const Reduced<D> s = reduce_by_ln2(e);
    return scale(exp_reduced(s.r), s.k, s.n);
}
template <class F> TP_INLINE F pow_any(F x, F y) {
    typedef Lane<F> T;
    const F zero((T)0), one((T)1);
    F magnitude;
    if constexpr (is_f32<F>) magnitude = convert_raw<float>(pow_magnitude_short(convert_raw<double>(abs(x)), convert_raw<double>(y)));
    else magnitude = pow_magnitude(abs(x), y);
    const auto whole = trunc(y) == y;
    const F half_y = y * F((T)0.5);
    const auto odd = whole & (trunc(half_y) != half_y);
    const F signed_result = select(odd, with_sign(magnitude, sign_bit(x)), magnitude);
    const auto undefined = (x < zero) & !whole & isfinite(x);
    const F result = select(undefined, F((T)__builtin_nan("")), signed_result);
    return select((y == zero) | (x == one), one, select((x != x) | (y != y), x + y, result));
}

// Wraps; a negative exponent gives 1/x truncated toward zero (0 where x is 0).
template <class X> TP_INLINE X integer_pow(X x, X y) {
    typedef Lane<X> T;
    const X zero((T)0), one((T)1);
    X result = one, base = x, rest = y;
    for (int i = 0; i < 8 * (int)sizeof(T); i++) {
        const auto more = rest != zero;
        if (!any(more)) break;
        result = select((rest & one) != zero, X(result * base), result);
        base = X(base * base);
        if constexpr (is_signed<T>) rest = (rest >> 1) & X((T)(((uint64_t)1 << (8 * sizeof(T) - 1)) - 1));
        else rest = rest >> 1;
    }
    if constexpr (is_signed<T>) {
        const X minus_one((T)-1);
        const X reciprocal_power = select(x == one, one, select(x == minus_one, select((y & one) != zero, minus_one, one), zero));
        return select(y < zero, reciprocal_power, result);
    } else {
        return result;
    }
}

// --------------------------------------------------------------------------- remainder and division

static __attribute__((noinline, cold)) double fmod_slow(double x, double y) {  // x, y > 0 finite, x >= y
    int64_t a = to_bits(x), b = to_bits(y);
    int64_t ea = a >> 52, eb = b >> 52;
    uint64_t ma = (uint64_t)a & 0xfffffffffffffull, mb = (uint64_t)b & 0xfffffffffffffull;
    if (ea) ma |= 0x10000000000000ull; else ea = 1;
    if (eb) mb |= 0x10000000000000ull; else eb = 1;
    for (int64_t steps = ea - eb; steps > 0; steps -= 11) {  // 53 + 11 bits fit
        ma = ma % mb;
        ma <<= steps < 11 ? steps : 11;
    }
    ma %= mb;
    if (ma == 0) return 0.0;
    const int shift = __builtin_clzll(ma) - 11;
    if (eb - shift >= 1) return from_bits((int64_t)((ma << shift) & 0xfffffffffffffull) | (eb - shift) << 52);
    return from_bits((int64_t)(ma << (eb - 1)));
}
template <class F, class M> static __attribute__((noinline, cold)) F with_slow_lanes(F r, F a, F b, M slow) {
    if constexpr (Of<F>::lanes == 1) {
        return (F)fmod_slow((double)a, (double)b);
    } else {
        for (int i = 0; i < Of<F>::lanes; i++)
            if (slow[i]) r.set(i, (Lane<F>)fmod_slow((double)a[i], (double)b[i]));
        return r;
    }
}
// x - trunc(x / y) y, exactly.
template <class F> TP_INLINE F fmod_any(F x, F y) {
    typedef Lane<F> T;
    const F a = abs(x), b = abs(y), infinity((T)__builtin_inf());
    const F quotient = a / b;
    const F q = trunc(quotient);
    const F first = fma(-q, b, a);  // the quotient may have been rounded up to q
    F r = select(first < F((T)0), first + b, first);
    r = select(a < b, a, r);
    const auto slow = (quotient >= F(is_f32<F> ? (T)0x1p23 : (T)0x1p52)) & (a < infinity) & (b > F((T)0));
    if (__builtin_expect(any(slow), 0)) r = with_slow_lanes(r, a, b, slow);
    const auto undefined = (a == infinity) | (b == F((T)0)) | (x != x) | (y != y);
    return select(undefined, F((T)__builtin_nan("")), with_sign(r, sign_bit(x)));
}

// The divisor, made harmless: 0 and -1 become 1, and the callers answer for them.
template <class X> TP_INLINE X safe_divisor(X b) {
    typedef Lane<X> T;
    if constexpr (is_signed<T>) return select((b == X((T)0)) | (b == X((T)-1)), X((T)1), b);
    else return select(b == X((T)0), X((T)1), b);
}
// Toward zero, b neither 0 nor -1. Vectors have no integer division: narrow types divide as floats (the distance of a
// quotient from the next whole number is far above its rounding), 64 bits lane by lane.
template <class X> TP_INLINE X quotient(X a, X b) {
    typedef Lane<X> T;
    if constexpr (Of<X>::lanes == 1) return (X)(a / b);
    else if constexpr (is_pair<X>) return {quotient(a.lo, b.lo), quotient(a.hi, b.hi)};
    else if constexpr (sizeof(T) <= 2) return convert_raw<T>(convert_raw<int32_t>(convert_raw<float>(a) / convert_raw<float>(b)));
    else if constexpr (same<T, int32_t>) return convert_raw<T>(convert_raw<double>(a) / convert_raw<double>(b));
    else if constexpr (same<T, uint32_t>) return convert_raw<T>(convert_raw<int64_t>(convert_raw<double>(a) / convert_raw<double>(b)));
    else {
        X r = a;
        for (int i = 0; i < Of<X>::lanes; i++) r.set(i, a[i] / b[i]);
        return r;
    }
}
// Integers: toward zero; x / 0 is 0, and the least integer divided by -1 wraps.
template <class X> TP_INLINE X trunc_div(X a, X b) {
    typedef Lane<X> T;
    if constexpr (is_float<T>) return trunc(a / b);
    else {
        const X q = quotient(a, safe_divisor(b));
        if constexpr (is_signed<T>) return select(b == X((T)0), X((T)0), select(b == X((T)-1), X(X((T)0) - a), q));
        else return select(b == X((T)0), X((T)0), q);
    }
}
// The remainder with the sign of a; 0 where b is 0.
template <class X> TP_INLINE X fmod(X a, X b) {
    if constexpr (is_pair<X>) return {fmod(a.lo, b.lo), fmod(a.hi, b.hi)};
    else if constexpr (is_float<Lane<X>>) return fmod_any(a, b);
    else return select(b == X((Lane<X>)0), X((Lane<X>)0), X(a - trunc_div(a, b) * b));
}
// The remainder with the sign of b, as Python's %; a zero of floats keeps the sign of a.
template <class X> TP_INLINE X remainder(X a, X b) {
    typedef Lane<X> T;
    const X r = fmod(a, b), zero((T)0);
    if constexpr (!is_signed<T>) return r;
    else {
        return select((r != zero) & ((r < zero) != (b < zero)), X(r + b), r);
    }
}
// Rounded down, as Python's //.
template <class X> TP_INLINE X floordiv(X a, X b) {
    typedef Lane<X> T;
    const X zero((T)0);
    if constexpr (is_float<T>) {
        // (a - r) / b is nearly a whole number: round it to one.
        const X r = fmod(a, b);
        const X exact = (a - r) / b;
        const X down = select((r != zero) & ((r < zero) != (b < zero)), exact - X((T)1), exact);
        const X whole = floor(down);
        const X result = select(down - whole > X((T)0.5), whole + X((T)1), whole);
        const X ratio = a / b;
        return select(b == zero, ratio, select(down == zero, copysign(zero, ratio), result));
    } else {
        const X q = trunc_div(a, b);
        if constexpr (!is_signed<T>) return q;
        else {
            const X r = X(a - q * b);
            return select((b != zero) & (r != zero) & ((r < zero) != (b < zero)), X(q - X((T)1)), q);
        }
    }
}

// Shifts by any count: bits that leave are gone, a negative or too large count shifts everything out.
template <class X> TP_INLINE X lshift(X a, X n) {
    typedef Lane<X> T;
    const X zero((T)0);
    const auto inside = (n >= zero) & (n < X((T)(8 * sizeof(T))));
    return select(inside, X(a << select(inside, n, zero)), zero);
}
template <class X> TP_INLINE X rshift(X a, X n) {
    typedef Lane<X> T;
    const X zero((T)0), last((T)(8 * sizeof(T) - 1));
    const auto inside = (n >= zero) & (n <= last);
    if constexpr (is_signed<T>) return X(a >> select(inside, n, last));
    else return select(inside, X(a >> select(inside, n, zero)), zero);
}

template <class D> TP_INLINE D hypot_wide(D x, D y) {
    const D ax = abs(x), ay = abs(y), infinity(__builtin_inf());
    const D big = raw_max(ax, ay), small = raw_min(ax, ay);
    // By an exact power of two into the range where squares neither overflow nor vanish.
    const D up = select(big > D(0x1p500), D(0x1p-600), select(big < D(0x1p-450), D(0x1p600), D(1.0)));
    const D down = select(big > D(0x1p500), D(0x1p600), select(big < D(0x1p-450), D(0x1p-600), D(1.0)));
    const D b = big * up, s = small * up;
    const Double2<D> b2 = two_product(b, b), s2 = two_product(s, s);
    const Double2<D> sum = quick_sum(b2.high, s2.high);
    const D root = sqrt(sum.high);
    const D rest = (fma(-root, root, sum.high) + (sum.low + (b2.low + s2.low))) / (root + root);
    const D result = select(b > D(0.0), root + rest, D(0.0)) * down;
    return select((ax == infinity) | (ay == infinity), infinity, select((x != x) | (y != y), x + y, result));
}
template <class F> TP_INLINE F hypot_any(F x, F y) {
    if constexpr (is_f32<F>) {
        const auto a = convert_raw<double>(x), b = convert_raw<double>(y);
        const F infinity(__builtin_inff());
        return select((abs(x) == infinity) | (abs(y) == infinity), infinity, convert_raw<float>(sqrt(a * a + b * b)));
    } else {
        return hypot_wide(x, y);
    }
}

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

// -------------------------------------------------------------------------------- compound reductions

// The best value and where it was: NaN wins, then the first.
template <class X, class I> TP_INLINE void take_max(X& best, I& at, X value, I index) {
    const auto better = !(value <= best) & (best == best);
    best = select(better, value, best);
    at = select(better, index, at);
}
template <class X, class I> TP_INLINE void take_min(X& best, I& at, X value, I index) {
    const auto better = !(value >= best) & (best == best);
    best = select(better, value, best);
    at = select(better, index, at);
}
// The same over all lanes of vectors, whose indices are in no order.
template <class T, class I, class X, class J> TP_INLINE void merge_max(T& best, I& at, X values, J indices) {
    for (int i = 0; i < Of<X>::lanes; i++) {
        const T value = values[i];
        const bool ties = value == best || (value != value && best != best);
        if (ties ? indices[i] < at : !(value <= best) && best == best) best = value, at = indices[i];
    }
}
template <class T, class I, class X, class J> TP_INLINE void merge_min(T& best, I& at, X values, J indices) {
    for (int i = 0; i < Of<X>::lanes; i++) {
        const T value = values[i];
        const bool ties = value == best || (value != value && best != best);
        if (ties ? indices[i] < at : !(value >= best) && best == best) best = value, at = indices[i];
    }
}

// ------------------------------------------------------------------------------------ random numbers

template <class U> TP_INLINE U mul_high(U x, uint32_t m) { return convert_raw<uint32_t>((convert_raw<uint64_t>(x) * Like<uint64_t, U>((uint64_t)m)) >> 32); }
template <class X> TP_INLINE Like<uint32_t, X> low_word(X x) { return convert_raw<uint32_t>(x); }
template <class X> TP_INLINE Like<uint32_t, X> high_word(X x) { return convert_raw<uint32_t>(x >> 32); }
// Words 0 and 1 of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011): ten rounds over the counter
// (index, offset) with the key seed, each two words, low first.
template <class X> TP_INLINE Like<uint64_t, X> philox(X seed, X offset, X index) {
    typedef Like<uint32_t, X> U;
    U a = low_word(index), b = high_word(index), c = low_word(offset), d = high_word(offset);
    U key0 = low_word(seed), key1 = high_word(seed);
#pragma GCC unroll 10
    for (int i = 0; i < 10; i++) {
        const U high0 = mul_high(a, 0xD2511F53u), high1 = mul_high(c, 0xCD9E8D57u);
        const U low0 = a * U(0xD2511F53u), low1 = c * U(0xCD9E8D57u);
        a = high1 ^ b ^ key0;
        b = low1;
        c = high0 ^ d ^ key1;
        d = low0;
        key0 = key0 + U(0x9E3779B9u);
        key1 = key1 + U(0xBB67AE85u);
    }
    return convert_raw<uint64_t>(a) | (convert_raw<uint64_t>(b) << 32);
}

}  // namespace TP_ISA
}  // namespace tp
