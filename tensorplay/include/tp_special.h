// tp_special.h: special functions: gamma, zeta, Bessel, Airy, normal distribution, orthogonal polynomials.
//
// In: tp_math.h, the polynomials of tp_special_tables.h. Out: tp::lgamma, tp::digamma, tp::zeta, ... for floats and
// doubles. They branch and loop, so each is one scalar function of doubles, called for every lane; floats are rounded
// from it, within 0.6 ulp. Doubles are within a few ulp of the exact value (test/native/test_special.py measures it), near
// zeros other than the first ones within a few ulp of the function's size around them.
//
//     tp::lgamma(x)    tp::polygamma(n, x)    tp::igamma(a, x)
#pragma once
#include "tp_math.h"
#include "tp_special_tables.h"

namespace tp {
inline namespace TP_ISA {
namespace special {

#define TP_SCALAR static __attribute__((noinline, unused)) double

constexpr double inf = __builtin_inf(), nan = __builtin_nan("");
constexpr double pi = 0x1.921fb54442d18p+1, pi_low = 0x1.1a62633145c07p-53;
constexpr double euler = 0x1.2788cfc6fb619p-1;            // Euler's constant
constexpr double root_half = 0x1.6a09e667f3bcdp-1, root_half_low = -0x1.bdd3413b26456p-55;
constexpr double one_over_root_pi = 0x1.20dd750429b6dp-1;

template <int N> TP_INLINE double polynomial(const double (&c)[N], double t) {
    double sum = c[N - 1];
    for (int i = N - 2; i >= 0; i--) sum = fma(sum, t, c[i]);
    return sum;
}
// x minus a number in two parts.
TP_INLINE double minus(double x, const double (&zero)[2]) { return (x - zero[0]) - zero[1]; }

// ------------------------------------------------------------------------------------ sines of multiples of pi

TP_INLINE double sin_of_half_turn(double a) {  // sin(pi a), 0 <= a <= 1/2
    const double angle = pi * a;
    const double low = fma(pi, a, -angle) + pi_low * a;
    return fma(cos_any(angle), low, sin_any(angle));
}
TP_INLINE double sin_pi(double x) {  // x >= 0
    double r = fmod_any(x, 2.0);
    const bool negative = r > 1.0;
    if (negative) r = 2.0 - r;
    const double s = sin_of_half_turn(r > 0.5 ? 1.0 - r : r);
    return negative ? -s : s;
}
TP_INLINE double cos_pi(double x) {  // x >= 0
    double r = fmod_any(x, 2.0);
    if (r > 1.0) r = 2.0 - r;
    return r > 0.5 ? -sin_of_half_turn(r - 0.5) : sin_of_half_turn(0.5 - r);
}

// ------------------------------------------------------------------------------------------------------- gamma

// log(Gamma*(a)), Gamma*(a) = Gamma(a) e^a a^(1/2 - a) / sqrt(2 pi), for a >= 10 (Stirling; DLMF 5.11.1).
TP_INLINE double stirling(double a) {
    const double z = 1.0 / (a * a);
    return horner(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156, -3617.0 / 122400) / a;
}
// lgamma(1 + x) for |x| <= 1.
TP_INLINE double lgamma_plus_one(double x) {
    return x * (x - 1.0) * polynomial(table::lgamma_1_3, x - 1.0);
}
TP_INLINE double lgamma_positive(double x) {
    if (x < 1.0) return lgamma_plus_one(x) - log_any(x);
    if (x < 3.0) return (x - 1.0) * (x - 2.0) * polynomial(table::lgamma_1_3, x - 2.0);
    if (x < 12.0) return (x - 1.0) * (x - 2.0) * polynomial(table::lgamma_3_12, (x - 7.5) * (1.0 / 4.5));
    const double l = log_any(x);
    return x * (l - 1.0) + (0x1.d67f1c864beb5p-1 - 0.5 * l + stirling(x));  // log(2 pi) / 2
}
TP_SCALAR lgamma(double x) {
    if (x != x) return x;
    const double a = abs(x);
    if (a == inf) return inf;
    if (x > 0.0) return lgamma_positive(x);
    if (x == trunc(x)) return inf;
    if (a < 0x1p-60) return -log_any(a);
    return log_any(pi / (a * abs(sin_pi(a)))) - lgamma_positive(a);  // Gamma(-a) Gamma(a) = -pi / (a sin(pi a))
}
TP_INLINE double digamma_positive(double x) {
    if (x >= 10.0) {
        const double z = 1.0 / (x * x);
        const double rest = z * horner(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12, -3617.0 / 8160);
        return log_any(x) - 0.5 / x - rest;
    }
    if (x < 1.0) {  // digamma(1 + x) - 1/x; 1 - zero is exact
        const double from_zero = (x - (table::digamma_zero[0][0] - 1.0)) - table::digamma_zero[0][1];
        return from_zero * polynomial(table::digamma_1_2, x + x - 1.0) - 1.0 / x;
    }
    double steps = 0.0;
    while (x >= 2.0) {
        x -= 1.0;
        steps += 1.0 / x;
    }
    return minus(x, table::digamma_zero[0]) * polynomial(table::digamma_1_2, x + x - 3.0) + steps;
}
TP_SCALAR digamma(double x) {
    if (x > 0.0) return x == inf ? inf : digamma_positive(x);
    if (x == 0.0) return copysign(inf, -x);
    const double a = -x;
    if (!(a < inf) || a == trunc(a)) return nan;
    return digamma_positive(a) + 1.0 / a + pi * cos_pi(a) / sin_pi(a);
}

// -------------------------------------------------------------------------------------------------------- zeta

// The sum of (q + k)^-s over k >= 0, s > 1, q > 0: some terms, then Euler and Maclaurin's formula (DLMF 25.11.5).
TP_INLINE double hurwitz(double s, double q) {
    if (q == inf) return 0.0;
    const double edge = 10.0 + 0.5 * s;
    double sum = 0.0, a = q;
    while (a < edge) {
        const double term = pow_any(a, -s);
        sum += term;
        if (term <= sum * 0x1p-60) return sum;
        a += 1.0;
    }
    const double p = pow_any(a, 1.0 - s) / a;
    double rest = a * (p / (s - 1.0)) + 0.5 * p;
    constexpr double bernoulli[] = {  // B(2k) / (2k)!
        8.333333333333333e-2, -1.388888888888889e-3, 3.306878306878307e-5, -8.267195767195768e-7, 2.08767569878681e-8, -5.284190138687493e-10,
        1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15, -2.174868698558062e-16, 5.509002828360229e-18, -1.3954464685812525e-19};
    double factor = p * (s / a);
    for (int k = 0; k < 12; k++) {
        rest += bernoulli[k] * factor;
        factor *= (s + (2 * k + 1)) / a * ((s + (2 * k + 2)) / a);
    }
    return sum + rest;
}
TP_SCALAR zeta(double s, double q) {
    if (s != s || q != q) return nan;
    if (s == 1.0) return inf;
    if (s < 1.0) return nan;
    if (q > 0.0) return hurwitz(s, q);
    if (q == floor(q)) return inf;
    if (s != floor(s)) return nan;
    // q = f - m: the terms below 0 are those of 1 - f up to m, with the sign (-1)^s.
    const double m = floor(-q) + 1.0;
    const double f = q + m, above = hurwitz(s, 1.0 - q);
    const double below = hurwitz(s, -q - (m - 1.0)) - above;
    return hurwitz(s, f) + (fmod_any(s, 2.0) == 0.0 ? below : -below);
}
TP_SCALAR polygamma(double n, double x) {  // (-1)^(n + 1) n! zeta(n + 1, x)
    if (n == 0.0) return digamma(x);
    if (!(n > 0.0) || n != trunc(n)) return nan;
    const double z = zeta(n + 1.0, x);
    const double sign = fmod_any(n, 2.0) == 0.0 ? -1.0 : 1.0;
    if (n > 170.0) return z == z ? sign * exp_any(lgamma(n + 1.0) + log_any(z)) : z;
    double factorial = 1.0;
    for (double k = 2.0; k <= n; k += 1.0) factorial *= k;
    return sign * (factorial * z);
}

// ---------------------------------------------------------------------------------------- incomplete gamma

// mu - log(1 + mu), mu > -1.
TP_INLINE double log1p_rest(double mu) {
    if (mu < -0.4 || mu > 0.4) return mu - log1p_any(mu);
    const double s = mu / (2.0 + mu), z = s * s;  // log(1 + mu) = 2 atanh(s), mu = 2s / (1 - s)
    double series = 0.0;
    for (int k = 33; k >= 3; k -= 2) series = fma(series, z, 1.0 / k);
    return s * (mu - 2.0 * z * series);
}
// x^a e^-x / Gamma(a + 1)
TP_INLINE double gamma_density(double a, double x) {
    if (a < 12.0) {
        double b = a, product = 1.0;  // Gamma(a + 1) = product * Gamma(b + 1)
        while (b >= 2.0) {
            product *= b;
            b -= 1.0;
        }
        const double e = exp_any(-(b <= 1.0 ? lgamma_plus_one(b) : lgamma_positive(b + 1.0))) / product;
        const double half = exp_any(-0.5 * x);
        return x < 700.0 ? pow_any(x, a) * exp_any(-x) * e : pow_any(x, a) * half * e * half;
    }
    // a phi = (x - a) - a log(x / a) in two parts, so that the exponential of a large one is exact.
    const double ratio = x / a;
    if (!(ratio > 0.0 && ratio < inf)) return 0.0;
    const double outer = 1.0 / sqrt((pi + pi) * a) * exp_any(-stirling(a));
    if (ratio > 0.6 && ratio < 1.4) return outer * exp_any(-a * log1p_rest((x - a) / a));
    const Double2<double> l = log_double2(ratio);
    const Double2<double> part = two_product(a, l.high);
    const double difference = x - a, lost = (x - (difference + a)) + ((difference + a) - difference - a);
    const double e = part.high - difference;
    const double e_low = (part.high - e - difference) + part.low + a * l.low + fma(-ratio, a, x) / ratio - lost;
    return e < -800.0 ? 0.0 : outer * exp_sum(e, e_low);
}
// P(a, x) by the series of DLMF 8.11.4.
TP_INLINE double gamma_series(double a, double x) {
    const double start = gamma_density(a, x);
    if (start == 0.0) return 0.0;
    double term = 1.0, sum = 1.0, n = a;
    for (int i = 0; i < 100000 && term > sum * 0x1p-56; i++) {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    return start * sum;
}
// Q(a, x) by the continued fraction of DLMF 8.9.2, from its end: the tail after n terms shrinks as e^(-4 sqrt(n x)).
TP_INLINE double gamma_fraction(double a, double x) {
    const double start = gamma_density(a, x);
    if (start == 0.0) return 0.0;
    double below = 0.0;
    for (int n = (int)(120.0 / x + 6.0 * sqrt(a)) + 20; n >= 1; n--) {
        const double i = (double)n;
        below = i * (i - a) / (x + 1.0 - a + 2.0 * i - below);
    }
    return start * a / (x + 1.0 - a - below);
}
// Q(a, x) for small x and a: 1 - x^a / Gamma(1 + a) (1 + a sum (-x)^n / (n! (a + n))) (DLMF 8.7.3).
TP_INLINE double gamma_upper_small(double a, double x) {
    double term = 1.0, sum = 0.0;
    for (int n = 1; n < 60; n++) {
        term *= -x / n;
        const double part = term / (a + n);
        sum += part;
        if (abs(part) < abs(sum) * 0x1p-56) break;
    }
    const double power = expm1_any(a * log_any(x) - (a <= 1.0 ? lgamma_plus_one(a) : lgamma(a + 1.0)));
    return -power - (1.0 + power) * a * sum;
}
// Temme's uniform expansion for large a and x near a (DLMF 8.12.3): Q, or P.
TP_INLINE double gamma_uniform(double a, double x, bool upper) {
    const double mu = (x - a) / a;
    const double phi = log1p_rest(mu);
    const double eta = copysign(sqrt(phi + phi), mu);
    const double signed_eta = upper ? eta : -eta;
    double total = 0.0;
    for (int k = 9; k >= 0; k--) total = total / a + polynomial(table::temme[k], eta);
    const double rest = exp_any(-a * phi) / sqrt((pi + pi) * a) * total;
    return 0.5 * erfc(signed_eta * sqrt(0.5 * a)) + (upper ? rest : -rest);
}
TP_INLINE bool is_near(double a, double x) {
    const double distance = abs(x - a);
    return (a > 20.0 && distance < 0.3 * a) || (a > 200.0 && distance < 4.5 * sqrt(a));
}
TP_SCALAR incomplete_gamma(double a, double x, bool upper) {
    if (!(a >= 0.0) || !(x >= 0.0)) return nan;
    const double at_zero = upper ? 1.0 : 0.0;
    if (a == 0.0) return x > 0.0 ? 1.0 - at_zero : nan;
    if (x == 0.0) return at_zero;
    if (a == inf) return x == inf ? nan : at_zero;
    if (x == inf) return 1.0 - at_zero;
    if (is_near(a, x)) return gamma_uniform(a, x, upper);
    if (upper && a < 1.1 && x <= 1.1) return gamma_upper_small(a, x);
    if (x > 1.1 && x > a) {
        const double q = gamma_fraction(a, x);
        return upper ? q : 1.0 - q;
    }
    const double p = gamma_series(a, x);
    return upper ? 1.0 - p : p;
}
TP_SCALAR igamma(double a, double x) { return incomplete_gamma(a, x, false); }
TP_SCALAR igammac(double a, double x) { return incomplete_gamma(a, x, true); }

// ---------------------------------------------------------------------------------------- normal distribution

TP_SCALAR erfcx(double x) {  // e^(x^2) erfc(x)
    if (x < 0.5) {
        const double square = x * x;
        if (square > 720.0) return inf;
        return exp_sum(square, fma(x, x, -square)) * erfc_wide(x);
    }
    if (x <= 28.0) {
        const ErfcRatio<double> r = erfc_ratio(x);
        return fma(r.ratio, r.lost, r.ratio);
    }
    const double z = 0.5 / (x * x);
    return one_over_root_pi / x * horner(z, 1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0);
}
// erfc(-x / sqrt(2)) with the rounding of the argument made good.
TP_SCALAR ndtr(double x) {
    const double y = -x * root_half;
    if (!(abs(y) < 40.0)) return 0.5 * erfc_wide(y);
    const double low = fma(-x, root_half, -y) - x * root_half_low;
    const double slope = abs(y) < 30.0 ? exp_any(-y * y) * (2.0 * one_over_root_pi) : 0.0;
    return 0.5 * fma(-slope, low, erfc_wide(y));
}
TP_SCALAR log_ndtr(double x) {
    if (x >= -1.0) return log1p_any(-ndtr(-x));
    return log_any(0.5 * erfcx(-x * root_half)) - 0.5 * x * x;
}
TP_SCALAR ndtri(double p) {
    if (!(p >= 0.0 && p <= 1.0)) return nan;
    if (p >= 0.25 && p <= 0.75) return erfinv_wide(p + p - 1.0) * (root_half + root_half);
    const double q = p < 0.5 ? p : 1.0 - p;
    if (q == 0.0) return p < 0.5 ? -inf : inf;
    // Abramowitz and Stegun 26.2.23, then steps of Halley's method.
    const double t = sqrt(-2.0 * log_any(q));
    double y = t - horner(t, 2.515517, 0.802853, 0.010328) / horner(t, 1.0, 1.432788, 0.189269, 0.001308);
    for (int i = 0; i < 3; i++) {
        const double hazard = 2.0 * root_half * one_over_root_pi / erfcx(y * root_half);
        if (q < 1e-290) {
            y += (log_ndtr(-y) - log_any(q)) / hazard;
        } else {
            const double d = (ndtr(-y) - q) / q / hazard;
            y += d / (1.0 - 0.5 * d * y);
        }
    }
    return p < 0.5 ? -y : y;
}

// -------------------------------------------------------------------------------------------- Bessel functions

template <int order> TP_INLINE double i_series(double x) {  // |x| <= 8
    const double y = 0.25 * x * x;
    if constexpr (order == 0) return polynomial(table::i0_series, y);
    else return 0.5 * x * polynomial(table::i1_series, y);
}
template <int order> TP_INLINE double i_far(double a) {  // sqrt(a) e^-a I(a), a >= 8
    if constexpr (order == 0) return polynomial(table::i0_far, 16.0 / a - 1.0);
    else return polynomial(table::i1_far, 16.0 / a - 1.0);
}
template <int order> TP_INLINE double bessel_i(double x, bool scaled) {
    const double a = abs(x);
    if (!(a > 8.0)) {
        const double found = i_series<order>(x);
        return scaled ? exp_any(-a) * found : found;
    }
    if (a == inf) return scaled ? 0.0 : order ? x : a;
    const double far = i_far<order>(a) / sqrt(a);
    const double result = scaled ? far : a < 700.0 ? exp_any(a) * far : exp_any(0.5 * a) * far * exp_any(0.5 * a);
    return order && x < 0.0 ? -result : result;
}
TP_SCALAR i0(double x) { return bessel_i<0>(x, false); }
TP_SCALAR i1(double x) { return bessel_i<1>(x, false); }
TP_SCALAR i0e(double x) { return bessel_i<0>(x, true); }
TP_SCALAR i1e(double x) { return bessel_i<1>(x, true); }

template <int order> TP_INLINE double bessel_k(double x, bool scaled) {
    if (!(x >= 0.0)) return nan;
    if (x == 0.0) return inf;
    if (x == inf) return 0.0;
    if (x <= 1.0) {  // DLMF 10.31.2, 10.31.1
        const double y = 0.25 * x * x, l = log_any(0.5 * x);
        double found;
        if constexpr (order == 0) found = polynomial(table::k0_series, y) - l * i_series<0>(x);
        else found = 1.0 / x + (l * i_series<1>(x) - 0.25 * x * polynomial(table::k1_series, y));
        return scaled ? exp_any(x) * found : found;
    }
    double found;
    if (x <= 2.0) found = order ? polynomial(table::k1_middle, x + x - 3.0) : polynomial(table::k0_middle, x + x - 3.0);
    else found = order ? polynomial(table::k1_far, 4.0 / x - 1.0) : polynomial(table::k0_far, 4.0 / x - 1.0);
    found /= sqrt(x);
    return scaled ? found : exp_any(-x) * found;
}
TP_SCALAR k0(double x) { return bessel_k<0>(x, false); }
TP_SCALAR k1(double x) { return bessel_k<1>(x, false); }
TP_SCALAR k0e(double x) { return bessel_k<0>(x, true); }
TP_SCALAR k1e(double x) { return bessel_k<1>(x, true); }

// Hankel's expansion for x >= 8 (DLMF 10.17.3): sqrt(2 / (pi x)) (P cos(chi) - Q sin(chi)) and (P sin + Q cos), where
// chi = x - pi / 4 or x - 3 pi / 4 has (cos x + sin x) / sqrt(2) and (sin x - cos x) / sqrt(2) for its cosine and sine.
template <int order> TP_INLINE double hankel(double x, bool second) {
    if (x == inf) return 0.0;
    const double t = 128.0 / (x * x) - 1.0, s = sin_any(x), c = cos_any(x);
    double p, q;
    if constexpr (order == 0) p = polynomial(table::p0_far, t), q = polynomial(table::q0_far, t) / x;
    else p = polynomial(table::p1_far, t), q = polynomial(table::q1_far, t) / x;
    const double cos_chi = order ? s - c : c + s, sin_chi = order ? -(c + s) : s - c;
    return (second ? p * sin_chi + q * cos_chi : p * cos_chi - q * sin_chi) * (one_over_root_pi / sqrt(x));
}
TP_SCALAR j0(double x) {
    const double a = abs(x);
    if (a > 8.0) return hankel<0>(a, false);
    const auto& r = table::j0_zeros;
    return minus(a, r[0]) * (a + r[0][0]) * (minus(a, r[1]) * (a + r[1][0])) * polynomial(table::j0_near, x * x * 0.03125 - 1.0);
}
TP_SCALAR j1(double x) {
    const double a = abs(x);
    if (a > 8.0) return copysign(1.0, x) * hankel<1>(a, false);
    const auto& r = table::j1_zeros;
    return x * (minus(a, r[0]) * (a + r[0][0]) * (minus(a, r[1]) * (a + r[1][0])) * polynomial(table::j1_near, x * x * 0.03125 - 1.0));
}
constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
TP_SCALAR y0(double x) {
    if (!(x >= 0.0)) return nan;
    if (x == 0.0) return -inf;
    if (x > 8.0) return hankel<0>(x, true);
    if (x > 5.5) return minus(x, table::y0_zeros[1]) * polynomial(table::y0_high, (x - 6.75) * 0.8);
    if (x > 2.5) return minus(x, table::y0_zeros[0]) * polynomial(table::y0_low, (x - 4.0) * (1.0 / 1.5));
    return polynomial(table::y0_near, x * x * 0.32 - 1.0) + two_over_pi * log_any(x) * j0(x);
}
TP_SCALAR y1(double x) {
    if (!(x >= 0.0)) return nan;
    if (x == 0.0) return -inf;
    if (x > 8.0) return hankel<1>(x, true);
    if (x > 4.0) return minus(x, table::y1_zeros[1]) * polynomial(table::y1_high, (x - 6.0) * 0.5);
    if (x > 2.0) return minus(x, table::y1_zeros[0]) * polynomial(table::y1_low, x - 3.0);
    return x * polynomial(table::y1_near, x * x * 0.5 - 1.0) + two_over_pi * (log_any(x) * j1(x) - 1.0 / x);
}
TP_SCALAR spherical_j0(double x) {  // sin(x) / x
    if (abs(x) == inf) return 0.0;
    return x == 0.0 ? 1.0 : sin_any(x) / x;
}

// zeta = 2/3 x^(3/2) in two parts
TP_INLINE Double2<double> airy_angle(double x) {
    const double root = sqrt(x), root_low = fma(-root, root, x) / (root + root);
    const Double2<double> product = two_product(x, root);
    const double low = fma(x, root_low, product.low);
    const double third = product.high * (2.0 / 3);
    const double rest = fma(product.high, 2.0 / 3, -third) + product.high * 0x1.5555555555555p-55;
    return {third, rest + low * (2.0 / 3)};
}
TP_SCALAR airy_ai(double x) {
    if (x != x) return x;
    if (x > 1.0) {
        if (x > 110.0) return 0.0;
        const Double2<double> angle = airy_angle(x);
        const double e = exp_sum(-angle.high, -angle.low);
        if (x <= 2.5) return e * polynomial(table::airy_middle, (x - 1.75) * (1.0 / 0.75));
        return e * polynomial(table::airy_far, 5.0 / angle.high - 1.0) / sqrt(sqrt(x));
    }
    if (x >= -1.0) return polynomial(table::airy_near, x);
    if (x >= -3.0) return polynomial(table::airy_3_1, x + 2.0);
    if (x >= -5.0) return polynomial(table::airy_5_3, x + 4.0);
    if (x == -inf) return 0.0;
    const double a = -x;
    const Double2<double> angle = airy_angle(a);
    const double z = 1.0 / angle.high, t = fma(98.0 * z, z, -1.0);
    const double s = sin_any(angle.high), c = cos_any(angle.high);
    const double sine = fma(c, angle.low, s), cosine = fma(-s, angle.low, c);
    const double p = polynomial(table::airy_p, t), q = polynomial(table::airy_q, t) * z;
    return (p * (cosine + sine) + q * (sine - cosine)) * root_half * one_over_root_pi / sqrt(sqrt(a));
}

// ---------------------------------------------------------------------------------------- orthogonal polynomials

// Each by its three-term recurrence (DLMF 18.9); the degree is truncated, below 0 the polynomial is 0. Degrees above
// `highest_degree`, which would take milliseconds each, give NaN.
constexpr double highest_degree = 1048576.0;
struct Recurrence { double now, before; };
template <class Step> TP_INLINE double recur(double n, double first, double second, Step step) {
    n = trunc(n);
    if (!(n >= 0.0)) return n != n ? nan : 0.0;
    if (n > highest_degree) return nan;
    if (n == 0.0) return first;
    double before = first, now = second;
    for (double k = 1.0; k < n; k += 1.0) {
        const double after = step(k, now, before);
        before = now;
        now = after;
        if (now != now) break;
    }
    return now;
}
// All four kinds of Chebyshev have p(k + 1) = 2x p(k) - p(k - 1).
TP_INLINE double chebyshev(double x, double n, double second) {
    const double twice = x + x;
    return recur(n, 1.0, second, [=](double, double now, double before) { return fma(twice, now, -before); });
}
TP_SCALAR chebyshev_t(double x, double n) { return chebyshev(x, n, x); }
TP_SCALAR chebyshev_u(double x, double n) { return chebyshev(x, n, x + x); }
TP_SCALAR chebyshev_v(double x, double n) { return chebyshev(x, n, x + x - 1.0); }
TP_SCALAR chebyshev_w(double x, double n) { return chebyshev(x, n, x + x + 1.0); }
TP_SCALAR hermite_h(double x, double n) {
    return recur(n, 1.0, x + x, [=](double k, double now, double before) { return 2.0 * (x * now - k * before); });
}
TP_SCALAR hermite_he(double x, double n) {
    return recur(n, 1.0, x, [=](double k, double now, double before) { return x * now - k * before; });
}
TP_SCALAR laguerre_l(double x, double n) {
    return recur(n, 1.0, 1.0 - x, [=](double k, double now, double before) { return ((k + k + 1.0 - x) * now - k * before) / (k + 1.0); });
}
TP_SCALAR legendre_p(double x, double n) {
    return recur(n, 1.0, x, [=](double k, double now, double before) { return ((k + k + 1.0) * x * now - k * before) / (k + 1.0); });
}
#undef TP_SCALAR

}  // namespace special

// --------------------------------------------------------------------------------------------------- public names

#define TP_SPECIAL_UNARY(name)                                                                                                                   \
    template <class F> TP_INLINE F name(F x) {                                                                                                   \
        if constexpr (is_pair<F>) return {name(x.lo), name(x.hi)};                                                                               \
        else if constexpr (Of<F>::lanes == 1) return (F)special::name((double)x);                                                                \
        else {                                                                                                                                   \
            F r = x;                                                                                                                             \
            for (int i = 0; i < Of<F>::lanes; i++) r.set(i, (Lane<F>)special::name((double)x[i]));                                               \
            return r;                                                                                                                            \
        }                                                                                                                                        \
    }
#define TP_SPECIAL_BINARY(name)                                                                                                                  \
    template <class F> TP_INLINE F name(F x, F y) {                                                                                              \
        if constexpr (is_pair<F>) return {name(x.lo, y.lo), name(x.hi, y.hi)};                                                                   \
        else if constexpr (Of<F>::lanes == 1) return (F)special::name((double)x, (double)y);                                                     \
        else {                                                                                                                                   \
            F r = x;                                                                                                                             \
            for (int i = 0; i < Of<F>::lanes; i++) r.set(i, (Lane<F>)special::name((double)x[i], (double)y[i]));                                 \
            return r;                                                                                                                            \
        }                                                                                                                                        \
    }
#define TP_SPECIAL_UNARY_LIST(F)                                                                                                                 \
    F(lgamma) F(digamma) F(erfcx) F(ndtr) F(log_ndtr) F(ndtri) F(i0) F(i1) F(i0e) F(i1e) F(k0) F(k1) F(k0e) F(k1e)                               \
    F(j0) F(j1) F(y0) F(y1) F(spherical_j0) F(airy_ai)
#define TP_SPECIAL_BINARY_LIST(F)                                                                                                                \
    F(zeta) F(polygamma) F(igamma) F(igammac) F(chebyshev_t) F(chebyshev_u) F(chebyshev_v) F(chebyshev_w)                                        \
    F(hermite_h) F(hermite_he) F(laguerre_l) F(legendre_p)
TP_SPECIAL_UNARY_LIST(TP_SPECIAL_UNARY)
TP_SPECIAL_BINARY_LIST(TP_SPECIAL_BINARY)
#undef TP_SPECIAL_UNARY
#undef TP_SPECIAL_BINARY

}  // namespace TP_ISA
}  // namespace tp
