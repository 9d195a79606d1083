// tp_trig.h: sine, cosine, tangent for arguments of any size, and their inverses.
//
// In: tp_exp.h. Out: sine<shift>, tan_any, atan2_any, ... for float and double, whose public names tp_math.h gives.
#pragma once
#include "tp_exp.h"

namespace tp {
inline namespace TP_ISA {

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

}  // namespace TP_ISA
}  // namespace tp
