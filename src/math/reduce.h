#pragma once

// Sums and extremes over the rows or the columns of a row-major matrix. The order of joining is
// fixed by the sizes: results do not depend on the number of threads. Extremes keep a NaN.

#include <cstdint>

#include "base/isa.h"
#include "base/thread_pool.h"

namespace capstan {

enum class Reduction : uint8_t { kSum, kProduct, kMax, kMin };

// out[r] joins the elements of row r. Without columns it is the neutral element: 0, 1, -inf, inf.
void reduce_rows(Reduction how, const float* in, float* out, int64_t rows, int64_t cols,
                 ThreadPool& pool, Isa isa = best_isa());
void reduce_rows(Reduction how, const double* in, double* out, int64_t rows, int64_t cols,
                 ThreadPool& pool, Isa isa = best_isa());

// out[c] joins the elements of column c.
void reduce_columns(Reduction how, const float* in, float* out, int64_t rows, int64_t cols,
                    ThreadPool& pool, Isa isa = best_isa());
void reduce_columns(Reduction how, const double* in, double* out, int64_t rows, int64_t cols,
                    ThreadPool& pool, Isa isa = best_isa());

// The first column that holds the largest element of each row; a NaN counts as smaller than all.
void argmax_rows(const float* in, int64_t* out, int64_t rows, int64_t cols, ThreadPool& pool);
void argmax_rows(const double* in, int64_t* out, int64_t rows, int64_t cols, ThreadPool& pool);

}  // namespace capstan
