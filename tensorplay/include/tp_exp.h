// tp_exp.h: exponentials, logarithms and what follows from them: hyperbolic functions, erf, pow.
//
// In: tp_arith.h. Out: exp_any, log_any, ... for float and double, whose public names tp_math.h gives.
#pragma once
#include "tp_arith.h"

namespace tp {
inline namespace TP_ISA {

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
    const F one((Lane<F>)1), start = one + s.r;
    const F rest = fma(s.r * s.r, exp_tail(s.r), s.r - (start - one));
    return scale(start + fma(start + rest, low, rest), s.k, s.n);
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
// x = mantissa 2^exponent, 1/2 <= |mantissa| < 1; zeros, infinities and NaN are their own mantissa, with exponent 0.
template <class F> constexpr uint64_t exponent_field = is_f32<F> ? 0x7f800000 : 0x7ff0000000000000;
template <class F> struct Parts { F mantissa, exponent; };
template <class F> TP_INLINE Parts<F> parts_of(F x) {
    typedef Lane<F> T;
    typedef Bits<F> B;
    const F a = abs(x), zero((T)0);
    const auto small = a < F(is_f32<F> ? (T)0x1p-126 : (T)0x1p-1022);
    const B bits = to_bits(select(small, x * F(is_f32<F> ? (T)0x1p23 : (T)0x1p52), x));
    const B field((Lane<B>)exponent_field<F>), half((Lane<B>)(exponent_bias<F> - 1));
    const F mantissa = from_bits((bits & ~field) | (half << mantissa_bits<F>));
    const F exponent = convert_raw<T>(((bits & field) >> mantissa_bits<F>) - half) - select(small, F((T)mantissa_bits<F>), zero);
    const auto ordinary = (a > zero) & (a < F((T)__builtin_inf()));
    return {select(ordinary, mantissa, x), select(ordinary, exponent, zero)};
}
template <class F> TP_INLINE F frexp_mantissa_any(F x) { return parts_of(x).mantissa; }
template <class F> TP_INLINE F frexp_exponent_any(F x) { return parts_of(x).exponent; }

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
// The ratio for x <= 28, and what the roundings of Q and 1 + 2x lost, relative to it.
template <class D> struct ErfcRatio { D ratio, lost; };
template <class D> TP_INLINE ErfcRatio<D> erfc_ratio(D x) {
    const D t = (x - D(4.0)) / (x + D(4.0));
    const D slope = horner(t, -1.3962111684056253e-1, 1.5379652102598467e-2, 6.8097054254694617e-2, -1.0103906603463221e-1,
                       9.3732834998259962e-2, -6.6330365863800228e-2, 3.7167515539370068e-2, -1.6197733235191344e-2, 5.0319699563947939e-3,
                       -7.5778103000687916e-4, -1.9925654842036652e-4, 1.506678583481501e-4, -2.4399820987470167e-5, -1.1403359216893534e-5,
                       5.7112671603307911e-6, 7.6859797976549895e-7, -8.2766611321815866e-7, -7.4608271108848975e-7, 1.1163009518337585e-7,
                       8.8118932859662276e-7, -1.4223874753621573e-8, -5.6356933674759587e-7, 9.5734647666511449e-10, 1.5542192402143969e-7);
    const D step = t * slope;
    const D q = D(1.2329951186255526) + step;
    const D q_low = ((D(1.2329951186255526) - q) + step) + fma(t, slope, -step);
    const D d = D(1.0) + (x + x);
    const D d_low = (x + x) - (d - D(1.0));
    return {q / d, q_low / q - d_low / d};
}
template <class D> TP_INLINE D erfc_far(D x) {
    const D bounded = raw_min(x, D(28.0));
    const ErfcRatio<D> r = erfc_ratio(bounded);
    const D square = bounded * bounded;
    const D e_low = -fma(bounded, bounded, -square);
    const Reduced<D> s = reduce_by_ln2(-square);
    const D p = exp_accurate(s.r);
    const D product = p * r.ratio;
    // What the roundings of x^2, the ratio and the product lost, relative to the result.
    const D lost = e_low + r.lost;
    const D rest = fma(product, lost, fma(p, r.ratio, -product));
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
// log(x) in two parts, x > 0 and finite: to about 2^-65 of itself for doubles, 2^-35 for floats.
template <class F> TP_INLINE Double2<F> log_double2(F x) {
    typedef Lane<F> T;
    const Split<F> split = split_positive(x);
    const F f = split.f;
    const Double2<F> d = quick_sum(F((T)2), f);
    const F s = f / d.high;
    const F s_low = (fma(-s, d.high, f) - s * d.low) / d.high;
    Double2<F> z = two_product(s, s);
    z.low = z.low + F((T)2) * s * s_low;
    // log(1 + f) = 2s + s z (2/3 + z W(z))
    F w;
    if constexpr (is_f32<F>) w = horner(z.high, 3.99999976e-1f, 2.85719663e-1f, 2.21803308e-1f, 1.95424601e-1f);
    else
        w = horner(z.high, 4.0000000000000002e-1, 2.8571428571426888e-1, 2.2222222222716259e-1, 1.8181818106107808e-1, 1.5384622173113244e-1,
                   1.3332960819515163e-1, 1.1777231214807098e-1, 1.0279716096284258e-1, 1.2022558123139265e-1);
    Double2<F> t = quick_sum(F(is_f32<F> ? (T)0x1.555556p-1 : (T)0x1.5555555555555p-1), z.high * w);
    t.low = t.low + F(is_f32<F> ? (T)-0x1.555556p-26 : (T)0x1.5555555555555p-55);
    Double2<F> u = two_product(z.high, t.high);
    u.low = u.low + fma(z.high, t.low, z.low * t.high);
    Double2<F> v = two_product(s, u.high);
    v.low = v.low + fma(s, u.low, s_low * u.high);
    const Double2<F> log_m = quick_sum(s + s, v.high);
    const F log_m_low = log_m.low + (v.low + (s_low + s_low));
    // k log(2): the first part is exact, 41 bits by 11 or 16 bits by 8
    const F k_part = split.k * F(is_f32<F> ? (T)0x1.62e4p-1 : (T)0x1.62e42fefa4p-1);
    const Double2<F> sum = quick_sum(k_part, log_m.high);
    const F low = sum.low + (log_m_low + split.k * F(is_f32<F> ? (T)0x1.7f7d1cp-20 : (T)-0x1.8432a1b0e2634p-43));
    return quick_sum(sum.high, low);
}
// |x|^y for x of any size; the caller mends signs, NaN, x = 1, y = 0.
template <class F> TP_INLINE F pow_magnitude(F a, F y) {
    typedef Lane<F> T;
    const F infinity((T)__builtin_inf()), zero((T)0);
    const Double2<F> l = log_double2(a);
    const auto ordinary = (a > zero) & (a < infinity);
    const F high = select(ordinary, l.high, select(a == zero, -infinity, a));
    const F low = select(ordinary, l.low, zero);
    const F power = clamp_exponent(y, (T)-0x1p66, (T)0x1p66);
    const F e = power * high;
    const F e_low = fma(power, high, -e) + power * low;
    const auto inside = abs(e) < F(is_f32<F> ? (T)150 : (T)800);
    const F result = exp_sum(select(inside, e, zero), select(inside, e_low, zero));
    return select(inside, result, select(e > zero, infinity, select(e == e, zero, e)));
}
template <class F> TP_INLINE F pow_any(F x, F y) {
    typedef Lane<F> T;
    const F zero((T)0), one((T)1);
    const F magnitude = pow_magnitude(abs(x), y);
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

}  // namespace TP_ISA
}  // namespace tp
