#pragma once

// One piece of a matrix product, after the roles are dealt; between gemm.cc and its instruction
// sets.

#include <cstdint>

#include "base/isa.h"

namespace capstan {

// out[i, j] (+)= sum over p of left[i, p] * right[p, j]. `left` is read element by element and
// broadcast, `right` in vectors along its columns. Strides are in elements.
template <class T>
struct GemmArgs {
  const T* left;
  int64_t left_row, left_step;  // of row i, and of position p; one of the two is 1
  const T* right;
  int64_t right_step, right_col;  // of position p, and of column j; one of the two is 1
  T* out;
  int64_t out_row, out_col;
  int64_t rows, cols, depth;
  int64_t depth_block;  // sums are formed in blocks of at most so many positions
  bool accumulate;
};

template <class T>
using GemmFn = void (*)(const GemmArgs<T>&);

template <class T>
struct GemmFns {
  int64_t lanes;    // columns of one vector
  GemmFn<T> tiles;  // any product
  GemmFn<T> dots;   // few columns, left_step 1
};

// The longest depth block that the pieces have scratch for.
constexpr int64_t kMaxDepthBlock = 800;

GemmFns<float> sgemm_functions(Isa isa);
GemmFns<double> dgemm_functions(Isa isa);

}  // namespace capstan
