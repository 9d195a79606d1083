#include "tp_arith.h"

extern "C" int64_t fused_sum_0(void* const* buffers, int64_t begin, int64_t end) {
    using namespace tp;
    const float* in0 = (const float*)buffers[0];
    float* out0 = (float*)buffers[1];
    for (int64_t step = begin; step < end; ++step) {
        const int64_t x0_begin = step * 64;
        const int64_t x0_end = x0_begin + 64 < 70 ? x0_begin + 64 : 70;
        {
            alignas(64) float acc1[64];
            for (int64_t i = 0; i < 64; ++i) acc1[i] = 0.0f;
            for (int64_t r0_1 = 0; r0_1 < 512; ++r0_1) {
                int64_t x0_next = x0_begin;
                for (; x0_next + 32 <= x0_end; x0_next += 32) {
                    const int64_t x0 = x0_next;
                    const auto tmp0 = load<32>(in0 + (70*r0_1 + x0));
                    {
                        auto acc1_here = load<32>(acc1 + (x0 - x0_begin));
                        acc1_here = acc1_here + tmp0;
                        store(acc1 + (x0 - x0_begin), acc1_here);
                    }
                }
                for (int64_t x0 = x0_next; x0 < x0_end; x0 += 8) {
                    const int64_t x0_live = x0_end - x0 < 8 ? x0_end - x0 : 8;
                    const auto tmp0 = load<8>(in0 + (70*r0_1 + x0), x0_live);
                    {
                        auto acc1_here = load<8>(acc1 + (x0 - x0_begin));
                        acc1_here = acc1_here + tmp0;
                        store(acc1 + (x0 - x0_begin), acc1_here);
                    }
                }
            }
            int64_t x0_next = x0_begin;
            for (; x0_next + 32 <= x0_end; x0_next += 32) {
                const int64_t x0 = x0_next;
                const auto tmp1 = load<32>(acc1 + (x0 - x0_begin));
                store(out0 + x0, tmp1);
            }
            for (int64_t x0 = x0_next; x0 < x0_end; x0 += 8) {
                const int64_t x0_live = x0_end - x0 < 8 ? x0_end - x0 : 8;
                const auto tmp1 = load<8>(acc1 + (x0 - x0_begin));
                store(out0 + x0, tmp1, x0_live);
            }
        }
    }
    return 0;
}
