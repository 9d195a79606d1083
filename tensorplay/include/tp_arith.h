// tp_arith.h: arithmetic beyond the operators, with the same bits for scalars and every lane.
//
// In: tp_memory.h. Out: fma, sqrt, rounding, maxima, division and remainders of integers and floats, shifts,
// reductions over the lanes, random numbers. No instruction traps, whatever the operands.
//
//     tp::maximum(x, y)    tp::floordiv(a, b)    tp::reduce(Add(), x)
#pragma once
#include "tp_memory.h"

namespace tp {
inline namespace TP_ISA {

// ------------------------------------------------------------------ one instruction for each register

// Applies a scalar function to every lane.
#define TP_EACH_LANE(T, N, expression)                                                                                                           \
    Raw<T, N> r;                                                                                                                                 \
    for (int i = 0; i < N; i++) r[i] = expression;                                                                                               \
    return Vec<T, N>(r)

// a * b + c, rounded once. Where the machine has no such instruction, the C library computes the same bits.
TP_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TP_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class T, int N, bool w> TP_INLINE Vec<T, N> fma(Vec<T, N, w> a, Vec<T, N, w> b, Vec<T, N, w> c) {
    if constexpr (!w) {
        return {fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi)};
    } else {
#if defined(__clang__) && __has_builtin(__builtin_elementwise_fma)
        return Vec<T, N>(__builtin_elementwise_fma(a.v, b.v, c.v));
#elif TP_GCC_X86 && TP_HAS_FMA
        constexpr int bytes = N * sizeof(T);
        if constexpr (same<T, float>) {
#if TP_VECTOR_BYTES == 64
            if constexpr (bytes == 64) return Vec<T, N>(__builtin_ia32_vfmaddps512_mask(a.v, b.v, c.v, (uint16_t)-1, 4));
#endif
            if constexpr (bytes == 32) return Vec<T, N>(__builtin_ia32_vfmaddps256(a.v, b.v, c.v));
            if constexpr (bytes == 16) return Vec<T, N>(__builtin_ia32_vfmaddps(a.v, b.v, c.v));
        } else {
#if TP_VECTOR_BYTES == 64
            if constexpr (bytes == 64) return Vec<T, N>(__builtin_ia32_vfmaddpd512_mask(a.v, b.v, c.v, (uint8_t)-1, 4));
#endif
            if constexpr (bytes == 32) return Vec<T, N>(__builtin_ia32_vfmaddpd256(a.v, b.v, c.v));
            if constexpr (bytes == 16) return Vec<T, N>(__builtin_ia32_vfmaddpd(a.v, b.v, c.v));
        }
#elif defined(__aarch64__)
        if constexpr (same<T, float> && N == 4) { asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(c.v) : "w"(a.v), "w"(b.v)); return c; }
        if constexpr (same<T, double> && N == 2) { asm("fmla %0.2d, %1.2d, %2.2d" : "+w"(c.v) : "w"(a.v), "w"(b.v)); return c; }
#endif
        TP_EACH_LANE(T, N, fma(a.v[i], b.v[i], c.v[i]));
    }
}
template <class X> TP_INLINE X fma(X a, X b, Lane<X> c) { return fma(a, b, X(c)); }
template <class X> TP_INLINE X fma(X a, Lane<X> b, X c) { return fma(a, X(b), c); }
template <class X> TP_INLINE X fma(X a, Lane<X> b, Lane<X> c) { return fma(a, X(b), X(c)); }

TP_INLINE float sqrt(float a) { return __builtin_sqrtf(a); }
TP_INLINE double sqrt(double a) { return __builtin_sqrt(a); }
template <class T, int N, bool w> TP_INLINE Vec<T, N> sqrt(Vec<T, N, w> a) {
    if constexpr (!w) {
        return {sqrt(a.lo), sqrt(a.hi)};
    } else {
#if defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
        return Vec<T, N>(__builtin_elementwise_sqrt(a.v));
#elif TP_GCC_X86
        constexpr int bytes = N * sizeof(T);
        if constexpr (same<T, float>) {
#if TP_VECTOR_BYTES == 64
            if constexpr (bytes == 64) return Vec<T, N>(__builtin_ia32_sqrtps512_mask(a.v, a.v, (uint16_t)-1, 4));
#endif
#if TP_VECTOR_BYTES >= 32
            if constexpr (bytes == 32) return Vec<T, N>(__builtin_ia32_sqrtps256(a.v));
#endif
            if constexpr (bytes == 16) return Vec<T, N>(__builtin_ia32_sqrtps(a.v));
        } else {
#if TP_VECTOR_BYTES == 64
            if constexpr (bytes == 64) return Vec<T, N>(__builtin_ia32_sqrtpd512_mask(a.v, a.v, (uint8_t)-1, 4));
#endif
#if TP_VECTOR_BYTES >= 32
            if constexpr (bytes == 32) return Vec<T, N>(__builtin_ia32_sqrtpd256(a.v));
#endif
            if constexpr (bytes == 16) return Vec<T, N>(__builtin_ia32_sqrtpd(a.v));
        }
#endif
        TP_EACH_LANE(T, N, sqrt(a.v[i]));
    }
}

// To an integer: 0 nearest (ties to even), 1 down, 2 up, 3 toward zero.
template <int mode, class T> TP_INLINE T round_mode(T a) {
    if constexpr (same<T, float>) {
        if constexpr (mode == 0) return __builtin_rintf(a);
        if constexpr (mode == 1) return __builtin_floorf(a);
        if constexpr (mode == 2) return __builtin_ceilf(a);
        return __builtin_truncf(a);
    } else {
        if constexpr (mode == 0) return __builtin_rint(a);
        if constexpr (mode == 1) return __builtin_floor(a);
        if constexpr (mode == 2) return __builtin_ceil(a);
        return __builtin_trunc(a);
    }
}
template <int mode, class T, int N, bool w> TP_INLINE Vec<T, N> round_mode(Vec<T, N, w> a) {
    if constexpr (!w) {
        return {round_mode<mode>(a.lo), round_mode<mode>(a.hi)};
    } else {
#if defined(__clang__)
        if constexpr (mode == 0) return Vec<T, N>(__builtin_elementwise_roundeven(a.v));
        else if constexpr (mode == 1) return Vec<T, N>(__builtin_elementwise_floor(a.v));
        else if constexpr (mode == 2) return Vec<T, N>(__builtin_elementwise_ceil(a.v));
        else return Vec<T, N>(__builtin_elementwise_trunc(a.v));
#else
#if TP_GCC_X86 && defined(__SSE4_1__)
        constexpr int bytes = N * sizeof(T);
        if constexpr (same<T, float>) {
#if TP_VECTOR_BYTES == 64
            if constexpr (bytes == 64) return Vec<T, N>(__builtin_ia32_rndscaleps_mask(a.v, mode | 8, a.v, (uint16_t)-1, 4));
#endif
#if TP_VECTOR_BYTES >= 32
            if constexpr (bytes == 32) return Vec<T, N>(__builtin_ia32_roundps256(a.v, mode | 8));
#endif
            if constexpr (bytes == 16) return Vec<T, N>(__builtin_ia32_roundps(a.v, mode | 8));
        } else {
#if TP_VECTOR_BYTES == 64
            if constexpr (bytes == 64) return Vec<T, N>(__builtin_ia32_rndscalepd_mask(a.v, mode | 8, a.v, (uint8_t)-1, 4));
#endif
#if TP_VECTOR_BYTES >= 32
            if constexpr (bytes == 32) return Vec<T, N>(__builtin_ia32_roundpd256(a.v, mode | 8));
#endif
            if constexpr (bytes == 16) return Vec<T, N>(__builtin_ia32_roundpd(a.v, mode | 8));
        }
#endif
        TP_EACH_LANE(T, N, round_mode<mode>(a.v[i]));
#endif
    }
}

// b where a < b, else a: so a where either is NaN, and a where they are equal. (x86's max(b, a).)
template <class T> TP_INLINE T raw_max(T a, T b) { return a < b ? b : a; }
template <class T> TP_INLINE T raw_min(T a, T b) { return a > b ? b : a; }
#if TP_GCC_X86
#define TP_MAX_MIN(name, op)                                                                                                                     \
    template <class T, int N, bool w> TP_INLINE Vec<T, N> raw_##name(Vec<T, N, w> a, Vec<T, N, w> b) {                                           \
        constexpr int bytes = N * sizeof(T);                                                                                                     \
        if constexpr (!w) return {raw_##name(a.lo, b.lo), raw_##name(a.hi, b.hi)};                                                               \
        TP_MAX_MIN_512(name)                                                                                                                     \
        TP_MAX_MIN_256(name)                                                                                                                     \
        if constexpr (w && bytes == 16 && same<T, float>) return Vec<T, N>(__builtin_ia32_##name##ps(b.v, a.v));                                 \
        if constexpr (w && bytes == 16 && same<T, double>) return Vec<T, N>(__builtin_ia32_##name##pd(b.v, a.v));                                \
        return select(a op b, b, a);                                                                                                             \
    }
#if TP_VECTOR_BYTES == 64
#define TP_MAX_MIN_512(name)                                                                                                                     \
    if constexpr (w && bytes == 64 && same<T, float>) return Vec<T, N>(__builtin_ia32_##name##ps512_mask(b.v, a.v, a.v, (uint16_t)-1, 4));       \
    if constexpr (w && bytes == 64 && same<T, double>) return Vec<T, N>(__builtin_ia32_##name##pd512_mask(b.v, a.v, a.v, (uint8_t)-1, 4));
#else
#define TP_MAX_MIN_512(name)
#endif
#if TP_VECTOR_BYTES >= 32
#define TP_MAX_MIN_256(name)                                                                                                                     \
    if constexpr (w && bytes == 32 && same<T, float>) return Vec<T, N>(__builtin_ia32_##name##ps256(b.v, a.v));                                  \
    if constexpr (w && bytes == 32 && same<T, double>) return Vec<T, N>(__builtin_ia32_##name##pd256(b.v, a.v));
#else
#define TP_MAX_MIN_256(name)
#endif
#else
#define TP_MAX_MIN(name, op)                                                                                                                     \
    template <class T, int N, bool w> TP_INLINE Vec<T, N> raw_##name(Vec<T, N, w> a, Vec<T, N, w> b) { return select(a op b, b, a); }
#endif
TP_MAX_MIN(max, <)
TP_MAX_MIN(min, >)
#undef TP_MAX_MIN

// --------------------------------------------------------------------------- horizontal reductions

struct Add { template <class X> TP_METHOD X operator()(X a, X b) const { return a + b; } };
struct Mul { template <class X> TP_METHOD X operator()(X a, X b) const { return a * b; } };
struct And { template <class X> TP_METHOD X operator()(X a, X b) const { return a & b; } };
struct Or { template <class X> TP_METHOD X operator()(X a, X b) const { return a | b; } };
struct Xor { template <class X> TP_METHOD X operator()(X a, X b) const { return a ^ b; } };

// By halves: ((v0 v4)(v2 v6))((v1 v5)(v3 v7)), always in this order.
template <class Op, class T, int N, bool w> TP_INLINE T reduce(Op op, Vec<T, N, w> a) {
    if constexpr (N == 1) return a[0];
    else if constexpr (N == 2) return (T)op(a[0], a[1]);
    else return reduce(op, op(lower(a), upper(a)));
}
template <int W, int N> TP_INLINE bool reduce(Or, Mask<W, N> a) { return any(a); }
template <int W, int N> TP_INLINE bool reduce(And, Mask<W, N> a) { return all(a); }
template <class X> TP_INLINE Lane<X> reduce_add(X a) { return reduce(Add(), a); }
template <class X> TP_INLINE Lane<X> reduce_mul(X a) { return reduce(Mul(), a); }

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

// The product of the lower 32 bits of each lane with m, in 64 bits.
TP_INLINE uint64_t multiply_words(uint64_t x, uint32_t m) { return (uint64_t)(uint32_t)x * m; }
template <int N, bool w> TP_INLINE Vec<uint64_t, N> multiply_words(Vec<uint64_t, N, w> x, uint32_t m) {
    typedef Vec<uint64_t, N> X;
    if constexpr (!w) {
        return {multiply_words(x.lo, m), multiply_words(x.hi, m)};
    } else {
        const X factor((uint64_t)m);
#if TP_GCC_X86
#if TP_VECTOR_BYTES == 64
        if constexpr (N == 8) return X((Raw<uint64_t, 8>)__builtin_ia32_pmuludq512_mask((Raw<int, 16>)x.v, (Raw<int, 16>)factor.v, Raw<long long, 8>{}, (uint8_t)-1));
#endif
#if TP_VECTOR_BYTES >= 32
        if constexpr (N == 4) return X((Raw<uint64_t, 4>)__builtin_ia32_pmuludq256((Raw<int, 8>)x.v, (Raw<int, 8>)factor.v));
#endif
        if constexpr (N == 2) return X((Raw<uint64_t, 2>)__builtin_ia32_pmuludq128((Raw<int, 4>)x.v, (Raw<int, 4>)factor.v));
#endif
        return (x & X((uint64_t)0xffffffffu)) * factor;
    }
}
// Words 0 and 1 of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011): ten rounds over the counter
// (index, offset) with the key seed, each two words, low first. A word is the lower half of a 64-bit lane,
// whose upper half may hold anything.
template <class X> TP_INLINE Like<uint64_t, X> philox(X seed, X offset, X index) {
    typedef Like<uint64_t, X> U;
    U a = convert_raw<uint64_t>(index), b = a >> 32, c = convert_raw<uint64_t>(offset), d = c >> 32;
    U key0 = convert_raw<uint64_t>(seed), key1 = key0 >> 32;
#pragma GCC unroll 10
    for (int i = 0; i < 10; i++) {
        const U product0 = multiply_words(a, 0xD2511F53u), product1 = multiply_words(c, 0xCD9E8D57u);
        a = (product1 >> 32) ^ b ^ key0;
        b = product1;
        c = (product0 >> 32) ^ d ^ key1;
        d = product0;
        key0 = key0 + U((uint64_t)0x9E3779B9u);
        key1 = key1 + U((uint64_t)0xBB67AE85u);
    }
    return (a & U((uint64_t)0xffffffffu)) | (b << 32);
}

}  // namespace TP_ISA
}  // namespace tp
