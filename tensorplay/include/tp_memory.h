// tp_memory.h: from memory to registers and back.
//
// In: tp_vec.h. Out: load and store (whole, partial, strided, by lanes, under a condition), the half types
// of memory, stores past the cache, transposed tiles.
//
//     const auto x = tp::load<16>(in0 + i, count);   // the first count lanes; the others are zero
//     tp::store(out0 + i, x, count);
#pragma once
#include "tp_vec.h"

namespace tp {
inline namespace TP_ISA {

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
// How many elements lie before the first place that is aligned for N of them, at most `count`.
template <int N, class T> TP_INLINE int64_t lanes_before_aligned(const T* p, int64_t count) {
    constexpr size_t unit = N * sizeof(T) < TP_VECTOR_BYTES ? N * sizeof(T) : TP_VECTOR_BYTES;
    const int64_t before = (int64_t)((-(uintptr_t)p) % unit / sizeof(T));
    return before < count ? before : count;
}
// The same if the place is aligned well enough, else an ordinary store.
template <class T, class X> TP_INLINE void store_past_cache(T* p, X x) {
    if constexpr (same<T, Lane<X>>) {
        if ((uintptr_t)p % TP_VECTOR_BYTES == 0) return stream<TP_VECTOR_BYTES>(p, x);
        if constexpr (TP_VECTOR_BYTES == 64) {
            if ((uintptr_t)p % 32 == 0) return stream<32>(p, x);
        }
    }
    store(p, x);
}
TP_INLINE void stream_end() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

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

}  // namespace TP_ISA
}  // namespace tp
