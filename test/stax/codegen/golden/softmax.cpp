#include "tp_math.h"

extern "C" int64_t fused_amax_sub_exp_sum_div_0(void* const* buffers, int64_t begin, int64_t end) {
    using namespace tp;
    const float* in0 = (const float*)buffers[0];
    float* out0 = (float*)buffers[1];
    for (int64_t x0 = begin; x0 < end; ++x0) {
        float row_0;
        alignas(64) float row_1[1024];
        float row_2;
        {
            Vec<float, 8> acc1((-__builtin_inff()));
            for (int64_t r0_1 = 0; r0_1 < 1000; r0_1 += 8) {
                const auto tmp0 = load<8>(in0 + (1000*x0 + r0_1));
                acc1 = maximum(acc1, tmp0);
            }
            const float tmp1 = reduce(Max(), acc1);
            row_0 = tmp1;
        }
        {
            Vec<float, 8> acc5(0.0f);
            const float tmp1 = row_0;
            for (int64_t r0_1 = 0; r0_1 < 1000; r0_1 += 8) {
                const auto tmp0 = load<8>(in0 + (1000*x0 + r0_1));
                const auto tmp2 = (tmp0 - tmp1);
                const auto tmp3 = tp::exp(tmp2);
                store(row_1 + r0_1, tmp3);
                acc5 = acc5 + tmp3;
            }
            const float tmp5 = reduce(Add(), acc5);
            row_2 = tmp5;
        }
        {
            const float tmp1 = row_2;
            for (int64_t r0_1 = 0; r0_1 < 1000; r0_1 += 8) {
                const auto tmp0 = load<8>(row_1 + r0_1);
                const auto tmp2 = (tmp0 / tmp1);
                store(out0 + (1000*x0 + r0_1), tmp2);
            }
        }
    }
    return 0;
}
