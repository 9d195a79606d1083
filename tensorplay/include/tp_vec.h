// tp_vec.h: vectors of N lanes over the compiler's own vector extension.
//
// In: nothing (no <immintrin.h>, <cmath> or STL: they would cost more to compile than a kernel does).
// Out: Vec<T, N> and Mask<W, N> with operators, load/store (whole, partial, by lanes), conversions,
// where, horizontal reductions. A vector wider than the machine's is a pair of halves, down to whole
// registers, so that loops over several types have one lane count, and a larger N unrolls.
//
//     const auto x = tp::load<16>(in0 + i);                     // Vec<float, 16>
//     tp::store(out0 + i, tp::where(x > 0.0f, x * 2.0f, 0.0f));
//
// Every function also takes scalars, with the same bits as each lane of the vector form. Types in
// memory: float, double, intN_t, uintN_t, bool, half, bfloat16; the last two become float in registers.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define TP_VECTOR_BYTES 64
#define TP_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define TP_VECTOR_BYTES 32
#define TP_ISA avx2
#else
#define TP_VECTOR_BYTES 16
#define TP_ISA generic
#endif

// GCC names x86 instructions by builtins; Clang has generic elementwise builtins instead.
#if defined(__x86_64__) && !defined(__clang__)
#define TP_GCC_X86 1
#else
#define TP_GCC_X86 0
#endif
#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
#define TP_HAS_FMA 1
#else
#define TP_HAS_FMA 0
#endif

#define TP_INLINE static inline __attribute__((always_inline))
#define TP_METHOD inline __attribute__((always_inline))

namespace tp {
inline namespace TP_ISA {  // objects built for different machines may be linked into one module

// ------------------------------------------------------------------------------------------ types

struct half { uint16_t bits; };      // IEEE binary16, in memory only
struct bfloat16 { uint16_t bits; };  // the upper half of a float, in memory only

template <int W> struct IntOf;
template <> struct IntOf<1> { typedef int8_t type; };
template <> struct IntOf<2> { typedef int16_t type; };
template <> struct IntOf<4> { typedef int32_t type; };
template <> struct IntOf<8> { typedef int64_t type; };
template <int W> using Int = typename IntOf<W>::type;

template <class T> struct UnsignedOf { typedef T type; };
template <> struct UnsignedOf<int8_t> { typedef uint8_t type; };
template <> struct UnsignedOf<int16_t> { typedef uint16_t type; };
template <> struct UnsignedOf<int32_t> { typedef uint32_t type; };
template <> struct UnsignedOf<int64_t> { typedef uint64_t type; };

template <class T> struct HeldOf { typedef T type; };
template <> struct HeldOf<half> { typedef float type; };
template <> struct HeldOf<bfloat16> { typedef float type; };

template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;
template <class T> constexpr bool is_float = same<T, float> || same<T, double>;
template <class T> constexpr bool is_lane = is_float<T>;
template <> constexpr bool is_lane<int8_t> = true;
template <> constexpr bool is_lane<int16_t> = true;
template <> constexpr bool is_lane<int32_t> = true;
template <> constexpr bool is_lane<int64_t> = true;
template <> constexpr bool is_lane<uint8_t> = true;
template <> constexpr bool is_lane<uint16_t> = true;
template <> constexpr bool is_lane<uint32_t> = true;
template <> constexpr bool is_lane<uint64_t> = true;
template <class T> constexpr bool is_signed = is_float<T> || T(-1) < T(0);

#ifdef __clang__
template <class T, T... I> struct Sequence {};
template <int N> using Lanes = __make_integer_seq<Sequence, int, N>;
#else
template <class T, T... I> struct Sequence {};
template <int N> using Lanes = Sequence<int, __integer_pack(N)...>;
#endif

template <class T, int N> struct RawOf { typedef T type __attribute__((vector_size(N * sizeof(T)))); };
template <class T, int N> using Raw = typename RawOf<T, N>::type;

template <class T, int N, bool whole = (N * (int)sizeof(T) <= TP_VECTOR_BYTES)> struct Vec;
template <int W, int N> struct Mask;

#define TP_FRIENDS_ANY(F)                                                                          \
    F(+) F(-) F(*) F(/) F(&) F(|) F(^)
#define TP_FRIENDS_COMPARE(F)                                                                      \
    F(<) F(<=) F(>) F(>=) F(==) F(!=)

// One register (or a part of one).
template <class T, int N> struct Vec<T, N, true> {
    typedef Raw<T, N> V;
    typedef Raw<Int<sizeof(T)>, N> M;
    V v;
    Vec() = default;
    TP_METHOD Vec(V raw) : v(raw) {}
    TP_METHOD Vec(T x) : v(x - V{}) {}
#define TP_FRIEND(op) friend TP_METHOD Vec operator op(Vec a, Vec b) { return Vec(V(a.v op b.v)); }
    TP_FRIENDS_ANY(TP_FRIEND)
#undef TP_FRIEND
#define TP_FRIEND(op) friend TP_METHOD Mask<sizeof(T), N> operator op(Vec a, Vec b) { return {Vec<Int<sizeof(T)>, N>(M(a.v op b.v))}; }
    TP_FRIENDS_COMPARE(TP_FRIEND)
#undef TP_FRIEND
    friend TP_METHOD Vec operator-(Vec a) { return Vec(V(-a.v)); }
    friend TP_METHOD Vec operator~(Vec a) { return Vec(V(~a.v)); }
    friend TP_METHOD Vec operator<<(Vec a, int n) { return Vec(V(a.v << n)); }
    friend TP_METHOD Vec operator>>(Vec a, int n) { return Vec(V(a.v >> n)); }
    friend TP_METHOD Vec operator<<(Vec a, Vec b) { return Vec(V(a.v << b.v)); }
    friend TP_METHOD Vec operator>>(Vec a, Vec b) { return Vec(V(a.v >> b.v)); }
    TP_METHOD T operator[](int lane) const { return v[lane]; }
    TP_METHOD void set(int lane, T x) { v[lane] = x; }
};

// Two halves.
template <class T, int N> struct Vec<T, N, false> {
    typedef Vec<T, N / 2> Half;
    Half lo, hi;
    Vec() = default;
    TP_METHOD Vec(Half low, Half high) : lo(low), hi(high) {}
    TP_METHOD Vec(T x) : lo(x), hi(x) {}
#define TP_FRIEND(op) friend TP_METHOD Vec operator op(Vec a, Vec b) { return {a.lo op b.lo, a.hi op b.hi}; }
    TP_FRIENDS_ANY(TP_FRIEND)
#undef TP_FRIEND
#define TP_FRIEND(op) friend TP_METHOD Mask<sizeof(T), N> operator op(Vec a, Vec b) { return {{(a.lo op b.lo).m, (a.hi op b.hi).m}}; }
    TP_FRIENDS_COMPARE(TP_FRIEND)
#undef TP_FRIEND
    friend TP_METHOD Vec operator-(Vec a) { return {-a.lo, -a.hi}; }
    friend TP_METHOD Vec operator~(Vec a) { return {~a.lo, ~a.hi}; }
    friend TP_METHOD Vec operator<<(Vec a, int n) { return {a.lo << n, a.hi << n}; }
    friend TP_METHOD Vec operator>>(Vec a, int n) { return {a.lo >> n, a.hi >> n}; }
    friend TP_METHOD Vec operator<<(Vec a, Vec b) { return {a.lo << b.lo, a.hi << b.hi}; }
    friend TP_METHOD Vec operator>>(Vec a, Vec b) { return {a.lo >> b.lo, a.hi >> b.hi}; }
    TP_METHOD T operator[](int lane) const { return lane < N / 2 ? lo[lane] : hi[lane - N / 2]; }
    TP_METHOD void set(int lane, T x) { if (lane < N / 2) lo.set(lane, x); else hi.set(lane - N / 2, x); }
};

// A condition for each lane: 0 or -1 in integers as wide as what was compared.
template <int W, int N> struct Mask {
    Vec<Int<W>, N> m;
    Mask() = default;
    TP_METHOD Mask(Vec<Int<W>, N> lanes) : m(lanes) {}
    TP_METHOD Mask(bool b) : m((Int<W>)-(Int<W>)b) {}
    friend TP_METHOD Mask operator!(Mask a) { return {~a.m}; }
    friend TP_METHOD Mask operator~(Mask a) { return {~a.m}; }
    TP_METHOD bool operator[](int lane) const { return m[lane] != 0; }
    TP_METHOD void set(int lane, bool b) { m.set(lane, (Int<W>)-(Int<W>)b); }
};

// What a function needs to know of its argument type, scalar or vector.
template <class X> struct Of { typedef X lane; typedef Int<sizeof(X)> bits; typedef bool mask; static constexpr int lanes = 1; };
template <> struct Of<bool> { typedef bool lane; typedef bool mask; static constexpr int lanes = 1; };
template <class T, int N, bool w> struct Of<Vec<T, N, w>> {
    typedef T lane;
    typedef Vec<Int<sizeof(T)>, N> bits;
    typedef Mask<sizeof(T), N> mask;
    static constexpr int lanes = N;
};
template <int W, int N> struct Of<Mask<W, N>> { typedef bool lane; typedef Mask<W, N> mask; static constexpr int lanes = N; };
template <class X> using Lane = typename Of<X>::lane;
template <class X> using Bits = typename Of<X>::bits;
template <class X> using MaskOf = typename Of<X>::mask;

// The same shape as X with lanes of type T.
template <class T, class X> struct LikeOf { typedef T type; };
template <class T, class U, int N, bool w> struct LikeOf<T, Vec<U, N, w>> { typedef Vec<T, N> type; };
template <class T, int W, int N> struct LikeOf<T, Mask<W, N>> { typedef Vec<T, N> type; };
template <int W, int N> struct LikeOf<bool, Mask<W, N>> { typedef Mask<W, N> type; };
template <class U, int N, bool w> struct LikeOf<bool, Vec<U, N, w>> { typedef Mask<sizeof(U), N> type; };
template <class T, class X> using Like = typename LikeOf<T, X>::type;

// ------------------------------------------------------------------------- halves and other shapes

#if defined(__clang__) || __GNUC__ >= 12
template <class V, int... I> TP_INLINE auto lower_lanes(V v, Sequence<int, I...>) { return __builtin_shufflevector(v, v, I...); }
template <class V, int... I> TP_INLINE auto upper_lanes(V v, Sequence<int, I...>) { return __builtin_shufflevector(v, v, (I + (int)sizeof...(I))...); }
template <class V, int... I> TP_INLINE auto join_lanes(V a, V b, Sequence<int, I...>) { return __builtin_shufflevector(a, b, I...); }
#else
template <class V, int... I> TP_INLINE auto lower_lanes(V v, Sequence<int, I...>) { return Raw<__typeof__(v[0] + 0 * v[0]), sizeof...(I)>{(v[I])...}; }
template <class V, int... I> TP_INLINE auto upper_lanes(V v, Sequence<int, I...>) { return Raw<__typeof__(v[0] + 0 * v[0]), sizeof...(I)>{(v[I + sizeof...(I)])...}; }
template <class V, int... I> TP_INLINE auto join_lanes(V a, V b, Sequence<int, I...>) {
    constexpr int n = sizeof...(I) / 2;
    return Raw<__typeof__(a[0] + 0 * a[0]), sizeof...(I)>{(I < n ? a[I % n] : b[I % n])...};
}
#endif

// GCC would turn a conversion of half a register of narrow integers into scalar code: this keeps the half a vector.
template <class V> TP_INLINE void keep_vector(V& v) {
#if TP_GCC_X86
    if constexpr (sizeof(v[0]) < 4 && sizeof v >= 8) asm("" : "+x"(v));
#endif
}
template <class T, int N, bool w> TP_INLINE Vec<T, N / 2> lower(Vec<T, N, w> a) {
    if constexpr (w) {
        Raw<T, N / 2> half = lower_lanes(a.v, Lanes<N / 2>());
        keep_vector(half);
        return Vec<T, N / 2>(half);
    } else {
        return a.lo;
    }
}
template <class T, int N, bool w> TP_INLINE Vec<T, N / 2> upper(Vec<T, N, w> a) {
    if constexpr (w) {
        Raw<T, N / 2> half = upper_lanes(a.v, Lanes<N / 2>());
        keep_vector(half);
        return Vec<T, N / 2>(half);
    } else {
        return a.hi;
    }
}
template <class T, int N, bool w> TP_INLINE Vec<T, 2 * N> join(Vec<T, N, w> a, Vec<T, N, w> b) {
    if constexpr (2 * N * sizeof(T) <= TP_VECTOR_BYTES) return Vec<T, 2 * N>(Raw<T, 2 * N>(join_lanes(a.v, b.v, Lanes<2 * N>())));
    else return Vec<T, 2 * N>(a, b);
}
template <int W, int N> TP_INLINE Mask<W, N / 2> lower(Mask<W, N> a) { return {lower(a.m)}; }
template <int W, int N> TP_INLINE Mask<W, N / 2> upper(Mask<W, N> a) { return {upper(a.m)}; }
template <int W, int N> TP_INLINE Mask<W, 2 * N> join(Mask<W, N> a, Mask<W, N> b) { return {join(a.m, b.m)}; }

template <class T, int... I> TP_INLINE Raw<T, sizeof...(I)> count_lanes(Sequence<int, I...>) { return Raw<T, sizeof...(I)>{(T)I...}; }
// 0, 1, ..., N - 1
template <class T, int N> TP_INLINE Vec<T, N> iota() {
    if constexpr (N * sizeof(T) <= TP_VECTOR_BYTES) return Vec<T, N>(count_lanes<T>(Lanes<N>()));
    else return Vec<T, N>(iota<T, N / 2>(), iota<T, N / 2>() + Vec<T, N / 2>((T)(N / 2)));
}

// The first `count` lanes.
template <int W, int N> TP_INLINE Mask<W, N> first_lanes(int64_t count) { return iota<Int<W>, N>() < Vec<Int<W>, N>((Int<W>)(count < N ? count : N)); }

// ------------------------------------------------------------------------- reinterpretation, where

TP_INLINE int32_t to_bits(float x) { int32_t r; __builtin_memcpy(&r, &x, 4); return r; }
TP_INLINE int64_t to_bits(double x) { int64_t r; __builtin_memcpy(&r, &x, 8); return r; }
TP_INLINE float from_bits(int32_t x) { float r; __builtin_memcpy(&r, &x, 4); return r; }
TP_INLINE double from_bits(int64_t x) { double r; __builtin_memcpy(&r, &x, 8); return r; }
template <class To, class T, int N, bool w> TP_INLINE Vec<To, N> reinterpret(Vec<T, N, w> a) {
    if constexpr (w) return Vec<To, N>((Raw<To, N>)a.v);
    else return Vec<To, N>(reinterpret<To>(a.lo), reinterpret<To>(a.hi));
}
template <int N, bool w> TP_INLINE Vec<int32_t, N> to_bits(Vec<float, N, w> a) { return reinterpret<int32_t>(a); }
template <int N, bool w> TP_INLINE Vec<int64_t, N> to_bits(Vec<double, N, w> a) { return reinterpret<int64_t>(a); }
template <int N, bool w> TP_INLINE Vec<float, N> from_bits(Vec<int32_t, N, w> a) { return reinterpret<float>(a); }
template <int N, bool w> TP_INLINE Vec<double, N> from_bits(Vec<int64_t, N, w> a) { return reinterpret<double>(a); }

template <int To, int W, int N> TP_INLINE Mask<To, N> resize(Mask<W, N> m);

// a where the condition holds, else b. Both are computed.
template <class T> TP_INLINE T select(bool m, T a, T b) { return m ? a : b; }
template <int W, int N, class T, bool w> TP_INLINE Vec<T, N> select(Mask<W, N> m, Vec<T, N, w> a, Vec<T, N, w> b) {
    if constexpr (W != sizeof(T)) return select(resize<sizeof(T)>(m), a, b);
    else if constexpr (w) return Vec<T, N>(Raw<T, N>(m.m.v ? a.v : b.v));
    else return Vec<T, N>(select(lower(m), a.lo, b.lo), select(upper(m), a.hi, b.hi));
}
template <int W, int N, int A, int B> TP_INLINE Mask<A, N> select(Mask<W, N> m, Mask<A, N> a, Mask<B, N> b) {
    const Mask<A, N> c = resize<A>(m);
    return {(c.m & a.m) | (~c.m & resize<A>(b).m)};
}
template <class T> TP_INLINE T where(bool m, T a, T b) { return m ? a : b; }
template <int W, int N, class T, bool w> TP_INLINE Vec<T, N> where(Mask<W, N> m, Vec<T, N, w> a, Vec<T, N, w> b) { return select(m, a, b); }
template <int W, int N, class T, bool w, class S> TP_INLINE Vec<T, N> where(Mask<W, N> m, Vec<T, N, w> a, S b) { return select(m, a, Vec<T, N>((T)b)); }
template <int W, int N, class T, bool w, class S> TP_INLINE Vec<T, N> where(Mask<W, N> m, S a, Vec<T, N, w> b) { return select(m, Vec<T, N>((T)a), b); }
template <int W, int N, int A, int B> TP_INLINE Mask<A, N> where(Mask<W, N> m, Mask<A, N> a, Mask<B, N> b) { return select(m, a, b); }
template <int W, int N, int A> TP_INLINE Mask<A, N> where(Mask<W, N> m, Mask<A, N> a, bool b) { return select(m, a, Mask<A, N>(b)); }
template <int W, int N, int A> TP_INLINE Mask<A, N> where(Mask<W, N> m, bool a, Mask<A, N> b) { return select(m, Mask<A, N>(a), b); }

#define TP_MASK_OPERATOR(op)                                                                                                                     \
    template <int A, int B, int N> TP_INLINE Mask<(A < B ? A : B), N> operator op(Mask<A, N> a, Mask<B, N> b) {                                  \
        constexpr int W = A < B ? A : B;                                                                                                         \
        return {resize<W>(a).m op resize<W>(b).m};                                                                                               \
    }                                                                                                                                            \
    template <int A, int N> TP_INLINE Mask<A, N> operator op(Mask<A, N> a, bool b) { return {a.m op Mask<A, N>(b).m}; }                          \
    template <int A, int N> TP_INLINE Mask<A, N> operator op(bool a, Mask<A, N> b) { return {Mask<A, N>(a).m op b.m}; }
TP_MASK_OPERATOR(&)
TP_MASK_OPERATOR(|)
TP_MASK_OPERATOR(^)
#undef TP_MASK_OPERATOR
// Comparisons of conditions; a bool is the same in every lane.
#define TP_MASK_COMPARISON(op, result)                                                                                                           \
    template <int A, int B, int N> TP_INLINE Mask<(A < B ? A : B), N> operator op(Mask<A, N> a, Mask<B, N> b) { return result; }                 \
    template <int A, int N> TP_INLINE Mask<A, N> operator op(Mask<A, N> a, bool b) { return result; }                                            \
    template <int A, int N> TP_INLINE Mask<A, N> operator op(bool a, Mask<A, N> b) { return result; }
TP_MASK_COMPARISON(!=, a ^ b)
TP_MASK_COMPARISON(==, !(a ^ b))
TP_MASK_COMPARISON(<, !a & b)
TP_MASK_COMPARISON(<=, !a | b)
TP_MASK_COMPARISON(>, a & !b)
TP_MASK_COMPARISON(>=, a | !b)
#undef TP_MASK_COMPARISON

// Does the condition hold anywhere?
TP_INLINE bool any(bool m) { return m; }
template <int W, int N> TP_INLINE bool any(Mask<W, N> a) {
    constexpr int bytes = W * N;
    if constexpr (bytes > TP_VECTOR_BYTES) {
        return any(lower(a) | upper(a));
    } else {
#if TP_VECTOR_BYTES == 64
        if constexpr (bytes == 64) return __builtin_ia32_cvtb2mask512((Raw<char, 64>)a.m.v) != 0;
#endif
#if TP_VECTOR_BYTES >= 32
        if constexpr (bytes == 32) return __builtin_ia32_pmovmskb256((Raw<char, 32>)a.m.v) != 0;
#endif
#if defined(__SSE2__)
        if constexpr (bytes == 16) return __builtin_ia32_pmovmskb128((Raw<char, 16>)a.m.v) != 0;
#endif
        if constexpr (bytes > 8) {
            return any(lower(a) | upper(a));
        } else {
            uint64_t r = 0;
            __builtin_memcpy(&r, &a.m.v, bytes);
            return r != 0;
        }
    }
}
TP_INLINE bool all(bool m) { return m; }
template <int W, int N> TP_INLINE bool all(Mask<W, N> a) { return !any(!a); }

// ------------------------------------------------------------------------------------- conversions

// Same lanes, another number type, no rule for what does not fit: see `convert` for that.
template <class To, class T, int N, bool w> TP_INLINE Vec<To, N> convert_raw(Vec<T, N, w> a) {
    if constexpr (same<To, T>) return a;
    else if constexpr (is_float<To> && sizeof(T) < 4) return convert_raw<To>(convert_raw<int32_t>(a));  // compilers go lane by lane
    else if constexpr (N * sizeof(T) <= TP_VECTOR_BYTES && N * sizeof(To) <= TP_VECTOR_BYTES) return Vec<To, N>(__builtin_convertvector(a.v, Raw<To, N>));
    else return join(convert_raw<To>(lower(a)), convert_raw<To>(upper(a)));
}
template <class To, class T> TP_INLINE To convert_raw(T a) { return (To)a; }

template <int To, int W, int N> TP_INLINE Mask<To, N> resize(Mask<W, N> m) {
    if constexpr (To == W) return m;
    else return {convert_raw<Int<To>>(m.m)};
}

// Numbers to numbers as C does, but for float to integer: truncated toward zero; NaN and what an int32
// (for targets of 8 to 32 signed or 8 to 16 unsigned bits) or an int64 (for the wider ones) cannot hold
// become the least number of that type; then the low bits are taken. So -1.9 becomes 255 as uint8, on
// every machine, in vectors and scalars alike. uint64 takes [2^63, 2^64) too.
template <class To, class X> TP_INLINE Like<To, X> float_to_int(X x) {
    typedef Lane<X> F;
    if constexpr (same<To, uint64_t>) {
        const F half_range = (F)9223372036854775808.0;
        const auto large = (x >= X(half_range)) & (x < X(half_range * 2));
        const auto low = float_to_int<int64_t>(select(large, x - X(half_range), x));
        return convert_raw<uint64_t>(low) + select(large, Like<uint64_t, X>((uint64_t)1 << 63), Like<uint64_t, X>((uint64_t)0));
    } else if constexpr (sizeof(To) == 8 || same<To, uint32_t>) {
        const F bound = (F)9223372036854775808.0;
        const auto fits = (x >= X(-bound)) & (x < X(bound));
        return convert_raw<To>(convert_raw<int64_t>(select(fits, x, X(-bound))));
    } else {
        const F bound = (F)2147483648.0;
        const auto fits = (x > X(same<F, float> ? -bound : -bound - 1)) & (x < X(bound));
        return convert_raw<To>(convert_raw<int32_t>(select(fits, x, X(-bound))));
    }
}

// A half type is held as a float; converting to one rounds to it (through float).
template <class To> using Held = typename HeldOf<To>::type;
template <class F> TP_INLINE F round_to_half(F x);
template <class F> TP_INLINE F round_to_bfloat16(F x);

template <class To, int W, int N> TP_INLINE auto convert(Mask<W, N> m) {
    if constexpr (same<To, bool>) return m;
    else return convert_raw<Held<To>>(Vec<int8_t, N>(resize<1>(m).m & Vec<int8_t, N>((int8_t)1)));
}
template <class To> TP_INLINE Held<To> convert(bool x) { return (Held<To>)x; }
template <class To, class X> TP_INLINE Like<Held<To>, X> convert(X x) {
    typedef Lane<X> From;
    if constexpr (same<To, half>) return round_to_half(convert<float>(x));
    else if constexpr (same<To, bfloat16>) return round_to_bfloat16(convert<float>(x));
    else if constexpr (same<To, From>) return x;
    else if constexpr (same<To, bool>) return x != X((From)0);
    else if constexpr (is_float<From> && !is_float<To>) return float_to_int<To>(x);
    else return convert_raw<To>(x);
}

}  // namespace TP_ISA
}  // namespace tp
