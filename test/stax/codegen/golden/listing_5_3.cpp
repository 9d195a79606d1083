#include "tp_math.h"

extern "C" int64_t fused_gelu_backward_0(void* const* buffers, int64_t begin, int64_t end) {
    using namespace tp;
    const float* in0 = (const float*)buffers[0];
    const float* in1 = (const float*)buffers[1];
    float* out0 = (float*)buffers[2];
    for (int64_t step = begin; step < end; ++step) {
        const int64_t x0_begin = step * 256;
        const int64_t x0_end = x0_begin + 256;
        {
            for (int64_t x0 = x0_begin; x0 < x0_begin + 256; x0 += 16) {
                const auto tmp0 = load<16>(in0 + x0);
                const auto tmp1 = load<16>(in1 + x0);
                const auto tmp3 = (tmp1 * 0.5f);
                const auto tmp5 = (tmp1 * 0.70710677f);
                const auto tmp6 = tp::erf(tmp5);
                const auto tmp8 = (1.0f + tmp6);
                const auto tmp9 = (tmp0 * tmp8);
                const auto tmp10 = (tmp0 * tmp3);
                const auto tmp11 = (tmp5 * tmp5);
                const auto tmp12 = (-tmp11);
                const auto tmp13 = tp::exp(tmp12);
                const auto tmp15 = (tmp13 * 1.1283792f);
                const auto tmp16 = (tmp10 * tmp15);
                const auto tmp17 = (tmp16 * 0.70710677f);
                const auto tmp18 = (tmp9 * 0.5f);
                const auto tmp19 = (tmp17 + tmp18);
                store(out0 + x0, tmp19);
            }
        }
    }
    return 0;
}
