#include "tp_arith.h"

extern "C" int64_t fused_argmax_0(void* const* buffers, int64_t begin, int64_t end) {
    using namespace tp;
    const float* in0 = (const float*)buffers[0];
    int64_t* out0 = (int64_t*)buffers[1];
    for (int64_t x0 = begin; x0 < end; ++x0) {
        {
            Vec<float, 32> best2((-__builtin_inff()));
            Vec<int32_t, 32> at2(int32_t(0));
            Vec<float, 4> best2_tail((-__builtin_inff()));
            Vec<int32_t, 4> at2_tail(int32_t(0));
            for (int64_t r0_1 = 0; r0_1 < 96; r0_1 += 32) {
                const auto tmp0 = load<32>(in0 + (100*x0 + r0_1));
                const auto tmp1 = Vec<int32_t, 32>(int32_t(r0_1)) + iota<int32_t, 32>();
                take_max(best2, at2, tmp0, tmp1);
            }
            {
                const int64_t r0_1 = 96;
                const auto tmp0 = load<4>(in0 + (100*x0 + r0_1));
                const auto tmp1 = Vec<int32_t, 4>(int32_t(r0_1)) + iota<int32_t, 4>();
                take_max(best2_tail, at2_tail, tmp0, tmp1);
            }
            float best2_all = (-__builtin_inff());
            int32_t at2_all = int32_t(0);
            merge_max(best2_all, at2_all, best2, at2);
            merge_max(best2_all, at2_all, best2_tail, at2_tail);
            const int64_t tmp2 = convert<int64_t>(at2_all);
            store(out0 + x0, tmp2);
        }
    }
    return 0;
}
