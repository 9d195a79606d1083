// Products by NumPy's own OpenBLAS, for those who cut the work themselves; see matmul.cpp.
#pragma once

#include <cstdint>

namespace tp {

bool blas_is_found();

// Around the products of one call: OpenBLAS has one thread meanwhile.
void blas_enter();
void blas_leave();

// c = a @ b for row-major a (m x k) and b (k x n); the rows of c are `c_step` elements apart.
void blas_gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
               int64_t c_step);
void blas_gemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c,
               int64_t c_step);

}  // namespace tp
