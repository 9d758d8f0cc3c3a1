#include "math/gemm.h"

#include <algorithm>

#include "math/gemm_args.h"

namespace capstan {
namespace {

constexpr int64_t kPieceFlops = 4'000'000;  // about 40 us: what makes waking a core worth while
constexpr int64_t kMaxPieces = 16;
// Pieces begin at whole tiles.
constexpr int64_t kRowUnit = 12, kColUnit = 32;

template <class T>
GemmArgs<T> deal(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a,
                 int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool accumulate) {
  // Long sums are better for few rows; for many, left must stay in a cache.
  const int64_t depth_block = m <= 128 ? kMaxDepthBlock : kMaxDepthBlock / 2;
  // Columns of a transposed b are gathered, which costs n*k. Where that is more than gathering the
  // rows of a and writing out column-wise, the transposed product is formed instead.
  if (trans_b && n * k > m * k + m * n)
    return {.left = b,
            .left_row = ldb,
            .left_step = 1,
            .right = a,
            .right_step = trans_a ? lda : 1,
            .right_col = trans_a ? 1 : lda,
            .out = c,
            .out_row = 1,
            .out_col = ldc,
            .rows = n,
            .cols = m,
            .depth = k,
            .depth_block = depth_block,
            .accumulate = accumulate};
  return {.left = a,
          .left_row = trans_a ? 1 : lda,
          .left_step = trans_a ? lda : 1,
          .right = b,
          .right_step = trans_b ? 1 : ldb,
          .right_col = trans_b ? ldb : 1,
          .out = c,
          .out_row = ldc,
          .out_col = 1,
          .rows = m,
          .cols = n,
          .depth = k,
          .depth_block = depth_block,
          .accumulate = accumulate};
}

// How many pieces are worth a core each; even, as most numbers of cores are.
int64_t wanted_pieces(int64_t flops) {
  const int64_t pieces = flops / kPieceFlops;
  return pieces < 2 ? 1 : std::min((pieces + 1) / 2 * 2, kMaxPieces);
}

// Each element of out is summed in the same order whatever the cut.
template <class T>
void run_cut(const GemmArgs<T>& whole, GemmFn<T> run_piece, ThreadPool& pool) {
  if (whole.rows == 0 || whole.cols == 0) return;
  const int64_t wanted = wanted_pieces(2 * whole.rows * whole.cols * whole.depth);
  if (wanted == 1 || pool.threads() == 1) return run_piece(whole);
  const bool by_rows = whole.rows > whole.cols;
  const int64_t dim = by_rows ? whole.rows : whole.cols, unit = by_rows ? kRowUnit : kColUnit;
  const int64_t units = (dim + unit - 1) / unit, pieces = std::min(wanted, units);
  pool.parallel_for(pieces, [&](int64_t piece) {
    GemmArgs<T> part = whole;
    const int64_t first = piece * units / pieces * unit;
    const int64_t count = std::min((piece + 1) * units / pieces * unit, dim) - first;
    (by_rows ? part.rows : part.cols) = count;
    if (by_rows)
      part.left += first * whole.left_row;
    else
      part.right += first * whole.right_col;
    part.out += first * (by_rows ? whole.out_row : whole.out_col);
    run_piece(part);
  });
}

// The same product with the roles exchanged.
template <class T>
GemmArgs<T> exchanged(const GemmArgs<T>& g) {
  GemmArgs<T> e = g;
  e.left = g.right, e.left_row = g.right_col, e.left_step = g.right_step;
  e.right = g.left, e.right_step = g.left_step, e.right_col = g.left_row;
  e.out_row = g.out_col, e.out_col = g.out_row;
  e.rows = g.cols, e.cols = g.rows;
  return e;
}

// Columns that would fill less than half of a last vector are a product of their own.
template <class T>
void run(GemmArgs<T> whole, const GemmFns<T>& fns, ThreadPool& pool) {
  const int64_t rest = whole.cols % fns.lanes;
  if (rest > 0 && rest <= fns.lanes / 2 && whole.cols > 2 * fns.lanes &&
      whole.depth >= 2 * fns.lanes) {
    GemmArgs<T> last = whole;
    whole.cols -= rest;
    last.cols = rest;
    last.right += whole.cols * whole.right_col;
    last.out += whole.cols * whole.out_col;
    if (whole.left_step == 1)
      run_cut(last, fns.dots, pool);
    else
      run_cut(exchanged(last), fns.tiles, pool);
  }
  run_cut(whole, fns.tiles, pool);
}

}  // namespace

void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
           const float* b, int64_t ldb, float* c, int64_t ldc, bool accumulate, ThreadPool& pool,
           Isa isa) {
  run(deal(trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, accumulate), sgemm_functions(isa),
      pool);
}

void dgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const double* a,
           int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc, bool accumulate,
           ThreadPool& pool, Isa isa) {
  run(deal(trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, accumulate), dgemm_functions(isa),
      pool);
}

}  // namespace capstan
