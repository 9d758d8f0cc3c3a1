#pragma once

// Matrix product, row-major: c = op(a) op(b), or c += when accumulate. op(a) is m x k, op(b) k x n;
// a transposed operand is stored the other way round. The order of sums is fixed by the sizes:
// results do not depend on the number of threads. c overlaps neither a nor b.

#include <cstdint>

#include "base/isa.h"
#include "base/thread_pool.h"

namespace capstan {

void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
           const float* b, int64_t ldb, float* c, int64_t ldc, bool accumulate, ThreadPool& pool,
           Isa isa = best_isa());
void dgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const double* a,
           int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc, bool accumulate,
           ThreadPool& pool, Isa isa = best_isa());

}  // namespace capstan
