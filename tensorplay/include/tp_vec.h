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

// ------------------------------------------------------------------------------ load, store, lanes

template <int N, class T> TP_INLINE Vec<T, N> load(const T* p) {
    if constexpr (N * sizeof(T) <= TP_VECTOR_BYTES) {
        Raw<T, N> r;
        __builtin_memcpy(&r, p, sizeof r);
        return Vec<T, N>(r);
    } else {
        return Vec<T, N>(load<N / 2>(p), load<N / 2>(p + N / 2));
    }
}
template <class T, int N, bool w> TP_INLINE void store(T* p, Vec<T, N, w> x) {
    if constexpr (w) __builtin_memcpy(p, &x.v, N * sizeof(T));
    else { store(p, x.lo); store(p + N / 2, x.hi); }
}
template <class T> TP_INLINE void store(T* p, T x) { *p = x; }

// The first `count` lanes (0 <= count <= N); the others read as zero, and nothing beyond is touched.
template <int bytes> TP_INLINE void copy_part(char*& to, const char*& from, int64_t count_bytes) {
    if (count_bytes & bytes) {
        __builtin_memcpy(to, from, bytes);
        to += bytes;
        from += bytes;
    }
    if constexpr (bytes > 1) copy_part<bytes / 2>(to, from, count_bytes);
}
template <int N, class T> TP_INLINE Vec<T, N> load(const T* p, int64_t count) {
    if (count == N) return load<N>(p);
    T lanes[N];
    __builtin_memset(lanes, 0, sizeof lanes);
    char* to = (char*)lanes;
    const char* from = (const char*)p;
    copy_part<N * sizeof(T) / 2>(to, from, count * (int64_t)sizeof(T));
    return load<N>((const T*)lanes);
}
template <class T, int N, bool w> TP_INLINE void store(T* p, Vec<T, N, w> x, int64_t count) {
    if (count == N) return store(p, x);
    T lanes[N];
    store((T*)lanes, x);
    char* to = (char*)p;
    const char* from = (const char*)lanes;
    copy_part<N * sizeof(T) / 2>(to, from, count * (int64_t)sizeof(T));
}

// A bool is a byte that is 0 or 1.
template <int N> TP_INLINE Mask<1, N> load(const bool* p) { return load<N>((const uint8_t*)p) != Vec<uint8_t, N>((uint8_t)0); }
template <int N> TP_INLINE Mask<1, N> load(const bool* p, int64_t count) { return load<N>((const uint8_t*)p, count) != Vec<uint8_t, N>((uint8_t)0); }
template <int W, int N> TP_INLINE void store(bool* p, Mask<W, N> x) { store((int8_t*)p, resize<1>(x).m & Vec<int8_t, N>((int8_t)1)); }
template <int W, int N> TP_INLINE void store(bool* p, Mask<W, N> x, int64_t count) { store((int8_t*)p, resize<1>(x).m & Vec<int8_t, N>((int8_t)1), count); }

// Lane by lane, where the places are not neighbours.
template <class T, int... I> TP_INLINE Vec<T, sizeof...(I)> strided_lanes(const T* p, int64_t stride, Sequence<int, I...>) {
    return Vec<T, sizeof...(I)>(Raw<T, sizeof...(I)>{p[I * stride]...});
}
template <int N, class T> TP_INLINE auto load_strided(const T* p, int64_t stride) {
    if constexpr (is_lane<T> && N * sizeof(T) <= TP_VECTOR_BYTES && N <= 16) {
        return strided_lanes(p, stride, Lanes<N>());  // by way of memory the vector would wait for its lanes
    } else if constexpr (is_lane<T> && N * sizeof(T) > TP_VECTOR_BYTES) {
        return Vec<T, N>(load_strided<N / 2>(p, stride), load_strided<N / 2>(p + N / 2 * stride, stride));
    } else {
        T values[N];
        for (int i = 0; i < N; i++) values[i] = p[i * stride];
        return load<N>((const T*)values);
    }
}
template <int N, class T> TP_INLINE auto load_strided(const T* p, int64_t stride, int64_t count) {
    T values[N];
    __builtin_memset((void*)values, 0, sizeof values);
    for (int i = 0; i < count; i++) values[i] = p[i * stride];
    return load<N>((const T*)values);
}

// What f(0), ..., f(count - 1) give, as a vector.
template <int N, class F> TP_INLINE auto lanes(F f, int64_t count = N) {
    typedef decltype(f((int64_t)0)) T;
    if constexpr (same<T, bool>) {
        uint8_t values[N] = {};
        for (int64_t i = 0; i < count; i++) values[i] = f(i);
        return load<N>((const bool*)values);
    } else {
        T values[N] = {};
        for (int64_t i = 0; i < count; i++) values[i] = f(i);
        return load<N>((const T*)values);
    }
}
// Zero where the condition does not hold; nothing is read there.
template <int N, class T, int W> TP_INLINE auto load_where(const T* p, Mask<W, N> m, int64_t count = N) {
    typedef decltype(load<N>(p)) X;
    if (count == N && all(m)) return load<N>(p);
    T values[N] = {};
    for (int64_t i = 0; i < count; i++)
        if (m[i]) values[i] = p[i];
    return X(load<N>((const T*)values));
}

// --------------------------------------------------------------------------------------- transposing

#if defined(__clang__) || __GNUC__ >= 12
#define TP_TRANSPOSES 1
// The lanes of a and b in turn: of their lower halves, or of their upper ones.
template <int half, class V, int... I> TP_INLINE V interleave(V a, V b, Sequence<int, I...>) {
    constexpr int n = sizeof...(I);
    return __builtin_shufflevector(a, b, (I / 2 + half * n / 2 + (I % 2) * n)...);
}
// A square block: n perfect shuffles of its rows, n = log2 of its size, exchange rows and columns.
template <class T, int N> TP_INLINE void transpose_block(T* to, int64_t to_step, const T* from, int64_t from_step) {
    Raw<T, N> rows[N], turned[N];
#pragma GCC unroll 16
    for (int i = 0; i < N; i++) rows[i] = load<N>(from + i * from_step).v;
#pragma GCC unroll 4
    for (int done = 1; done < N; done *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < N / 2; i++) {
            turned[2 * i] = interleave<0>(rows[i], rows[i + N / 2], Lanes<N>());
            turned[2 * i + 1] = interleave<1>(rows[i], rows[i + N / 2], Lanes<N>());
        }
#pragma GCC unroll 16
        for (int i = 0; i < N; i++) rows[i] = turned[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; i++) store(to + i * to_step, Vec<T, N>(rows[i]));
}
#else
#define TP_TRANSPOSES 0
#endif
template <class T> struct WordOf { typedef T type; };
template <> struct WordOf<float> { typedef int32_t type; };
template <> struct WordOf<double> { typedef int64_t type; };
// to[i * to_step + j] = from[j * from_step + i] for i < rows, j < columns.
template <class T> TP_INLINE void transpose_tile(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows, int64_t columns) {
    int64_t i = 0;
#if TP_TRANSPOSES
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
        typedef typename WordOf<T>::type W;
        constexpr int N = TP_VECTOR_BYTES / sizeof(T);
        for (; i + N <= rows; i += N) {
            int64_t j = 0;
            for (; j + N <= columns; j += N) transpose_block<W, N>((W*)to + i * to_step + j, to_step, (const W*)from + j * from_step + i, from_step);
            for (; j < columns; j++)
                for (int64_t k = i; k < i + N; k++) to[k * to_step + j] = from[j * from_step + k];
        }
    }
#endif
    for (; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) to[i * to_step + j] = from[j * from_step + i];
}

// Past the cache, in pieces of at most `unit` bytes, of which the place is a multiple; `stream_end` before anyone reads.
template <int unit, class T, int N, bool w> TP_INLINE void stream(T* p, Vec<T, N, w> x) {
    constexpr int bytes = N * sizeof(T);
    if constexpr (bytes > unit) {
        stream<unit>(p, lower(x));
        stream<unit>(p + N / 2, upper(x));
    } else {
#if defined(__clang__)
        if constexpr (bytes >= 16) return (void)__builtin_nontemporal_store(x.v, (Raw<T, N>*)p);
#elif TP_GCC_X86
#if TP_VECTOR_BYTES == 64
        if constexpr (bytes == 64) return __builtin_ia32_movntps512((float*)p, (Raw<float, 16>)x.v);
#endif
#if TP_VECTOR_BYTES >= 32
        if constexpr (bytes == 32) return __builtin_ia32_movntps256((float*)p, (Raw<float, 8>)x.v);
#endif
        if constexpr (bytes == 16) return __builtin_ia32_movntps((float*)p, (Raw<float, 4>)x.v);
#endif
        store(p, x);
    }
}
// The same if the place is aligned well enough, else an ordinary store.
template <class T, class X> TP_INLINE void store_past_cache(T* p, X x) {
    if constexpr (same<T, Lane<X>>) {
        if ((uintptr_t)p % TP_VECTOR_BYTES == 0) return stream<TP_VECTOR_BYTES>(p, x);
        if (TP_VECTOR_BYTES == 64 && (uintptr_t)p % 32 == 0) return stream<32>(p, x);
    }
    store(p, x);
}
TP_INLINE void stream_end() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

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

// ---------------------------------------------------------------------------------- half precision

// binary16 -> float is exact; a signalling NaN becomes quiet.
template <class U> TP_INLINE auto half_bits_to_float(U h) {  // U: int32_t or Vec<int32_t, N>, 16 bits used
    const U magnitude = h & U(0x7fff), sign = (h & U(0x8000)) << 16;
    const auto normal = from_bits((magnitude << 13) + U((127 - 15) << 23));
    const auto subnormal = convert_raw<float>(magnitude) * from_bits(U((127 - 24) << 23));
    const U special = U(0x7f800000) | ((magnitude & U(0x3ff)) << 13) | select(magnitude > U(0x7c00), U(0x00400000), U(0));
    return from_bits(select(magnitude < U(0x400), to_bits(subnormal), select(magnitude >= U(0x7c00), special, to_bits(normal))) | sign);
}
// float -> binary16, to nearest, ties to even.
template <class F> TP_INLINE auto float_to_half_bits(F x) {
    typedef Bits<F> U;
    const U bits = to_bits(x), sign = (bits >> 16) & U(0x8000), magnitude = bits & U(0x7fffffff);
    const U odd = (magnitude >> 13) & U(1);
    const U normal = (magnitude - U((127 - 15) << 23) + U(0xfff) + odd) >> 13;
    // Adding 0.5 leaves the subnormal's bits, rounded, at the end of the mantissa.
    const U subnormal = to_bits(from_bits(magnitude) + from_bits(U(126 << 23))) - U(126 << 23);
    const U nan = U(0x7e00) | ((magnitude >> 13) & U(0x3ff));
    const U finite = select(magnitude < U((127 - 14) << 23), subnormal, normal);
    return select(magnitude > U(0x7f800000), nan, select(magnitude >= U((127 + 16) << 23), U(0x7c00), finite)) | sign;
}
// float -> the nearest bfloat16, still a float.
template <class F> TP_INLINE F round_to_bfloat16(F x) {
    typedef Bits<F> U;
    const U bits = to_bits(x);
    const U finite = (bits + U(0x7fff) + ((bits >> 16) & U(1))) & U((int32_t)0xffff0000);
    return from_bits(select(x == x, finite, (bits | U(0x00400000)) & U((int32_t)0xffff0000)));
}
#if defined(__F16C__) && TP_GCC_X86
template <int N, bool w> TP_INLINE Vec<int16_t, N> narrow_half(Vec<float, N, w> x) {
    if constexpr (!w) return join(narrow_half(x.lo), narrow_half(x.hi));
#if TP_VECTOR_BYTES == 64
    else if constexpr (N == 16) return Vec<int16_t, N>((Raw<int16_t, N>)__builtin_ia32_vcvtps2ph512_mask(x.v, 0, Raw<int16_t, 16>{}, (uint16_t)-1));
#endif
    else if constexpr (N == 8) return Vec<int16_t, N>((Raw<int16_t, N>)__builtin_ia32_vcvtps2ph256(x.v, 0));
    else return convert_raw<int16_t>(float_to_half_bits(x));
}
template <int N, bool w> TP_INLINE Vec<float, N> widen_half(Vec<int16_t, N, w> h) {
    if constexpr (4 * N > TP_VECTOR_BYTES) return Vec<float, N>(widen_half(lower(h)), widen_half(upper(h)));
#if TP_VECTOR_BYTES == 64
    else if constexpr (N == 16) return Vec<float, N>(__builtin_ia32_vcvtph2ps512_mask(h.v, Raw<float, 16>{}, (uint16_t)-1, 4));
#endif
    else if constexpr (N == 8) return Vec<float, N>(__builtin_ia32_vcvtph2ps256(h.v));
    else return half_bits_to_float(convert_raw<int32_t>(reinterpret<uint16_t>(h)));
}
#else
template <int N, bool w> TP_INLINE Vec<int16_t, N> narrow_half(Vec<float, N, w> x) { return convert_raw<int16_t>(float_to_half_bits(x)); }
template <int N, bool w> TP_INLINE Vec<float, N> widen_half(Vec<int16_t, N, w> h) { return half_bits_to_float(convert_raw<int32_t>(reinterpret<uint16_t>(h))); }
#endif
TP_INLINE float widen_half(int16_t h) { return half_bits_to_float((int32_t)(uint16_t)h); }
TP_INLINE int16_t narrow_half(float x) { return (int16_t)float_to_half_bits(x); }
// float -> the nearest binary16, still a float.
template <class F> TP_INLINE F round_to_half(F x) { return widen_half(narrow_half(x)); }

TP_INLINE float widen(half x) { return widen_half((int16_t)x.bits); }
TP_INLINE float widen(bfloat16 x) { return from_bits((int32_t)((uint32_t)x.bits << 16)); }
TP_INLINE int16_t narrow_bfloat16(float x) { return (int16_t)((uint32_t)to_bits(round_to_bfloat16(x)) >> 16); }
template <int N, bool w> TP_INLINE Vec<int16_t, N> narrow_bfloat16(Vec<float, N, w> x) { return convert_raw<int16_t>(to_bits(round_to_bfloat16(x)) >> 16); }
template <int N, bool w> TP_INLINE Vec<float, N> widen_bfloat16(Vec<int16_t, N, w> h) { return from_bits(convert_raw<int32_t>(h) << 16); }

template <int N> TP_INLINE Vec<float, N> load(const half* p) { return widen_half(load<N>((const int16_t*)p)); }
template <int N> TP_INLINE Vec<float, N> load(const half* p, int64_t count) { return widen_half(load<N>((const int16_t*)p, count)); }
template <int N> TP_INLINE Vec<float, N> load(const bfloat16* p) { return widen_bfloat16(load<N>((const int16_t*)p)); }
template <int N> TP_INLINE Vec<float, N> load(const bfloat16* p, int64_t count) { return widen_bfloat16(load<N>((const int16_t*)p, count)); }
template <int N, bool w> TP_INLINE void store(half* p, Vec<float, N, w> x) { store((int16_t*)p, narrow_half(x)); }
template <int N, bool w> TP_INLINE void store(half* p, Vec<float, N, w> x, int64_t count) { store((int16_t*)p, narrow_half(x), count); }
template <int N, bool w> TP_INLINE void store(bfloat16* p, Vec<float, N, w> x) { store((int16_t*)p, narrow_bfloat16(x)); }
template <int N, bool w> TP_INLINE void store(bfloat16* p, Vec<float, N, w> x, int64_t count) { store((int16_t*)p, narrow_bfloat16(x), count); }

// One element as it is held in a register, and back.
template <class T> TP_INLINE T load(const T* p) { return *p; }
TP_INLINE float load(const half* p) { return widen(*p); }
TP_INLINE float load(const bfloat16* p) { return widen(*p); }
TP_INLINE void store(half* p, float x) { p->bits = (uint16_t)narrow_half(x); }
TP_INLINE void store(bfloat16* p, float x) { p->bits = (uint16_t)narrow_bfloat16(x); }

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

}  // namespace TP_ISA
}  // namespace tp
