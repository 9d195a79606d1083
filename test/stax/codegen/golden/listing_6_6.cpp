#include "tp_arith.h"

extern "C" int64_t fused_iota_mul_remainder_index_0(void* const* buffers, int64_t begin, int64_t end) {
    using namespace tp;
    const float* in0 = (const float*)buffers[0];
    float* out0 = (float*)buffers[1];
    for (int64_t step = begin; step < end; ++step) {
        {
            for (int64_t x0 = 0; x0 < 128; x0 += 32) {
                const auto tmp0 = lanes<32>([&](int64_t lane) { return load(in0 + (((3*(x0 + lane)) % 128))); });
                const auto tmp2 = (tmp0 * 2.0f);
                store(out0 + x0, tmp2);
            }
        }
    }
    return 0;
}
