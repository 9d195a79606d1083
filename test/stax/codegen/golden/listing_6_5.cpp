#include "tp_arith.h"

extern "C" int64_t fused_index_mul_0(void* const* buffers, int64_t begin, int64_t end) {
    using namespace tp;
    const int64_t* in0 = (const int64_t*)buffers[0];
    const float* in1 = (const float*)buffers[1];
    float* out0 = (float*)buffers[2];
    for (int64_t step = begin; step < end; ++step) {
        {
            for (int64_t x0 = 0; x0 < 40; x0 += 8) {
                const auto tmp0 = load<8>(in0 + x0);
                const auto tmp2 = (tmp0 < int64_t(0));
                const auto tmp4 = (tmp0 + int64_t(128));
                const auto tmp5 = tp::where(tmp2, tmp4, tmp0);
                if (any(((tmp5 < int64_t(0)) | (tmp5 >= int64_t(128))))) return 1;
                const auto tmp7 = lanes<8>([&](int64_t lane) { return load(in1 + (tmp5[lane])); });
                const auto tmp9 = (tmp7 * 2.0f);
                store(out0 + x0, tmp9);
            }
        }
    }
    return 0;
}
