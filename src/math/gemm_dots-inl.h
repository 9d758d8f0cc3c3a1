// The last few columns of a matrix product, too few for a vector of columns: vectors along the
// depth instead, summed across at the end. For left with adjacent steps. Compiled once per
// instruction set.

#if defined(CAPSTAN_MATH_GEMM_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_MATH_GEMM_DOTS_INL_H_
#undef CAPSTAN_MATH_GEMM_DOTS_INL_H_
#else
#define CAPSTAN_MATH_GEMM_DOTS_INL_H_
#endif

#include "math/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

constexpr int kDotRows = 3, kDotCols = 4;

// The sums of the lanes of four vectors, in a fixed order.
HWY_INLINE void sum_across(const hn::Vec<hn::ScalableTag<float>>* v, float* to) {
  const hn::ScalableTag<float> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto ab = hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
  const auto ef = hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3]));
  const auto low = hn::InterleaveLower(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, ef));
  const auto high = hn::InterleaveUpper(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, ef));
  HWY_ALIGN float lanes[kLanes<float>];
  hn::Store(hn::Add(hn::BitCast(d, low), hn::BitCast(d, high)), d, lanes);
  for (int64_t width = kLanes<float> / 2; width >= 4; width /= 2)
    for (int64_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  std::memcpy(to, lanes, 4 * sizeof(float));
}

HWY_INLINE void sum_across(const hn::Vec<hn::ScalableTag<double>>* v, double* to) {
  const hn::ScalableTag<double> d;
  for (int j = 0; j < kDotCols; ++j) to[j] = hn::GetLane(hn::SumOfLanes(d, v[j]));
}

// sums[i, j] = left row i times right row j, over depth. right has kDotCols rows of whole vectors.
template <class T, int kRows>
void dot_tile(const T* HWY_RESTRICT left, int64_t left_row, const T* HWY_RESTRICT right,
              int64_t right_row, int64_t depth, T* HWY_RESTRICT sums) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V sum[kRows][kDotCols];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kDotCols; ++j) sum[i][j] = hn::Zero(d);
  int64_t p = 0;
  for (; p + kLanes<T> <= depth; p += kLanes<T>) {
    V l[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) l[i] = hn::LoadU(d, left + i * left_row + p);
#pragma GCC unroll 4
    for (int j = 0; j < kDotCols; ++j) {
      const V r = hn::LoadU(d, right + j * right_row + p);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) sum[i][j] = hn::MulAdd(l[i], r, sum[i][j]);
    }
  }
  if (p < depth) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const V l = load_first(left + i * left_row + p, depth - p);
#pragma GCC unroll 4
      for (int j = 0; j < kDotCols; ++j)
        sum[i][j] = hn::MulAdd(l, hn::LoadU(d, right + j * right_row + p), sum[i][j]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) sum_across(sum[i], sums + i * kDotCols);
}

// Columns of right as rows, zeros behind them.
template <class T>
void gather_columns(const GemmArgs<T>& g, int64_t first_step, int64_t depth, int64_t first_col,
                    int64_t row, T* to) {
  for (int64_t j = 0; j < kDotCols; ++j) {
    const int64_t col = first_col + j;
    const T* from = g.right + first_step * g.right_step + col * g.right_col;
    for (int64_t p = 0; p < row; ++p)
      to[j * row + p] = col < g.cols && p < depth ? from[p * g.right_step] : T(0);
  }
}

template <class T>
void dot_block(const GemmArgs<T>& g, int64_t step, int64_t depth, int64_t first_col, T* gathered) {
  const int64_t row = (depth + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  const int64_t cols = std::min<int64_t>(kDotCols, g.cols - first_col);
  const bool add = g.accumulate || step > 0;
  gather_columns(g, step, depth, first_col, row, gathered);
  for (int64_t i = 0; i < g.rows; i += kDotRows) {
    const int64_t rows = std::min<int64_t>(kDotRows, g.rows - i);
    const T* left = g.left + i * g.left_row + step;
    HWY_ALIGN T sums[kDotRows * kDotCols];
    if (rows == 3) dot_tile<T, 3>(left, g.left_row, gathered, row, depth, sums);
    if (rows == 2) dot_tile<T, 2>(left, g.left_row, gathered, row, depth, sums);
    if (rows == 1) dot_tile<T, 1>(left, g.left_row, gathered, row, depth, sums);
    store_part(sums, kDotCols, rows, cols, g, g.out + i * g.out_row + first_col * g.out_col, add);
  }
}

template <class T>
void run_dots(const GemmArgs<T>& g) {
  HWY_ALIGN T gathered[kDotCols * (kMaxDepthBlock + kLanes<T>)];
  const int64_t blocks = std::max<int64_t>((g.depth + g.depth_block - 1) / g.depth_block, 1);
  for (int64_t b = 0, step = 0; b < blocks; ++b) {
    const int64_t depth = g.depth / blocks + (b < g.depth % blocks);
    for (int64_t col = 0; col < g.cols; col += kDotCols) dot_block(g, step, depth, col, gathered);
    step += depth;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif
