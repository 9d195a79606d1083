#include "tp_arith.h"

extern "C" int64_t fused_add_relu_mul_sum_0(void* const* buffers, int64_t begin, int64_t end) {
    using namespace tp;
    const float* in0 = (const float*)buffers[0];
    const float* in1 = (const float*)buffers[1];
    float* out0 = (float*)buffers[2];
    for (int64_t x0 = begin; x0 < end; ++x0) {
        {
            Vec<float, 32> acc6(0.0f);
            for (int64_t r0_1 = 0; r0_1 < 128; r0_1 += 32) {
                const auto tmp0 = load<32>(in0 + (128*x0 + r0_1));
                const auto tmp1 = load<32>(in1 + (128*x0 + r0_1));
                const auto tmp2 = (tmp0 + tmp1);
                const auto tmp3 = tp::relu(tmp2);
                const auto tmp5 = (tmp3 * 2.0f);
                acc6 = acc6 + tmp5;
            }
            const float tmp6 = reduce(Add(), acc6);
            store(out0 + x0, tmp6);
        }
    }
    return 0;
}
