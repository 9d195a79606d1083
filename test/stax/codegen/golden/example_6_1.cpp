#include "tp_arith.h"

extern "C" int64_t fused_t_add_0(void* const* buffers, int64_t begin, int64_t end) {
    using namespace tp;
    const float* in0 = (const float*)buffers[0];
    const float* in1 = (const float*)buffers[1];
    float* out0 = (float*)buffers[2];
    for (int64_t step = begin; step < end; ++step) {
        const int64_t x1_begin = (step % 4) * 64;
        const int64_t x1_end = x1_begin + 64;
        const int64_t x0_begin = (step / 4) * 256;
        const int64_t x0_end = x0_begin + 256;
        {
            alignas(64) float tile1[16384];
            transpose_tile(tile1, 64, in1 + (512*x1_begin + x0_begin), 512, x0_end - x0_begin, x1_end - x1_begin);
            for (int64_t x0 = x0_begin; x0 < x0_end; ++x0) {
                for (int64_t x1 = x1_begin; x1 < x1_begin + 64; x1 += 32) {
                    const auto tmp0 = load<32>(in0 + (256*x0 + x1));
                    const auto tmp1 = load<32>(tile1 + (64*(x0 - x0_begin) + (x1 - x1_begin)));
                    const auto tmp2 = (tmp0 + tmp1);
                    store(out0 + (256*x0 + x1), tmp2);
                }
            }
        }
    }
    return 0;
}
