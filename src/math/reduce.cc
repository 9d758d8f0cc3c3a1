#include "math/reduce.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "math/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/reduce.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef CAPSTAN_KERNEL_REDUCE_FNS_
#define CAPSTAN_KERNEL_REDUCE_FNS_
namespace capstan {

template <class T>
struct ReduceFns {
  T (*run)(const T* in, int64_t n);  // joins n adjacent elements
  // Joins a strip of at most kStrip columns.
  void (*strip)(const T* in, int64_t row, int64_t rows, int64_t cols, T* out);
};

constexpr int64_t kStrip = 64;

}  // namespace capstan
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Longer sums of one accumulator lose digits.
constexpr int64_t kRowsPerBlock = 128;

template <class T>
constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(T);

struct Sum {
  template <class T>
  static T neutral() {
    return 0;
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Add(a, b);
  }
};
struct Product {
  template <class T>
  static T neutral() {
    return 1;
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Mul(a, b);
  }
};
struct Max {
  static constexpr bool kExtreme = true;
  template <class T>
  static T neutral() {
    return -std::numeric_limits<T>::infinity();
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  }
};
struct Min {
  static constexpr bool kExtreme = true;
  template <class T>
  static T neutral() {
    return std::numeric_limits<T>::infinity();
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  }
};

template <class Op, class T>
HWY_INLINE T join_one(T a, T b) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(Op::join(hn::Set(d, a), hn::Set(d, b)));
}

template <class Op, class T>
HWY_INLINE T join_lanes(hn::Vec<hn::ScalableTag<T>> v) {
  HWY_ALIGN T lanes[kLanes<T>];
  hn::Store(v, hn::ScalableTag<T>(), lanes);
  for (int64_t width = kLanes<T> / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) lanes[j] = join_one<Op>(lanes[j], lanes[j + width]);
  return lanes[0];
}

// Of zeros of both signs the last is the extreme, as in TensorFlow; lanes do not know their order.
// A variable may have changed since a zero was seen: there may be none any more.
template <class T>
T last_zero(const T* in, int64_t n) {
  while (n > 1 && in[n - 1] != 0) --n;
  return in[n - 1];
}

template <class Op, class T>
T run(const T* in, int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kL = kLanes<T>;
  const auto neutral = hn::Set(d, Op::template neutral<T>());
  auto a = neutral, b = neutral, e = neutral, f = neutral;
  int64_t i = 0;
  for (; i + 4 * kL <= n; i += 4 * kL) {
    a = Op::join(a, hn::LoadU(d, in + i));
    b = Op::join(b, hn::LoadU(d, in + i + kL));
    e = Op::join(e, hn::LoadU(d, in + i + 2 * kL));
    f = Op::join(f, hn::LoadU(d, in + i + 3 * kL));
  }
  for (; i + kL <= n; i += kL) a = Op::join(a, hn::LoadU(d, in + i));
  if (i < n) {
    HWY_ALIGN T lanes[kL];
    hn::Store(neutral, d, lanes);
    std::copy(in + i, in + n, lanes);
    b = Op::join(b, hn::Load(d, lanes));
  }
  const T all = join_lanes<Op, T>(Op::join(Op::join(a, b), Op::join(e, f)));
  if constexpr (requires { Op::kExtreme; }) {
    if (all == 0) return last_zero(in, n);
  }
  return all;
}

// to[j] = to[j] op from[j]; both have room for whole vectors.
template <class Op, class T>
HWY_INLINE void join_strip(const T* from, T* to, int64_t cols) {
  const hn::ScalableTag<T> d;
  int64_t j = 0;
  for (; j + kLanes<T> <= cols; j += kLanes<T>)
    hn::StoreU(Op::join(hn::LoadU(d, to + j), hn::LoadU(d, from + j)), d, to + j);
  for (; j < cols; ++j) to[j] = join_one<Op>(to[j], from[j]);
}

template <class Op, class T>
void strip(const T* in, int64_t row, int64_t rows, int64_t cols, T* out) {
  HWY_ALIGN T block[kStrip];
  std::fill_n(out, cols, Op::template neutral<T>());
  for (int64_t first = 0; first < rows; first += kRowsPerBlock) {
    std::fill_n(block, cols, Op::template neutral<T>());
    const int64_t end = std::min(rows, first + kRowsPerBlock);
    for (int64_t r = first; r < end; ++r) join_strip<Op>(in + r * row, block, cols);
    join_strip<Op>(block, out, cols);
  }
}

template <class T>
ReduceFns<T> find(Reduction how) {
  switch (how) {
    case Reduction::kSum: return {run<Sum, T>, strip<Sum, T>};
    case Reduction::kProduct: return {run<Product, T>, strip<Product, T>};
    case Reduction::kMax: return {run<Max, T>, strip<Max, T>};
    default: return {run<Min, T>, strip<Min, T>};
  }
}

}  // namespace

ReduceFns<float> find_float(Reduction how) { return find<float>(how); }
ReduceFns<double> find_double(Reduction how) { return find<double>(how); }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

constexpr int64_t kPiece = 16 * 1024;  // elements: what a thread takes at a time

// Long rows are joined in pieces, and the pieces in their order, however many threads there are.
template <class T>
T long_row(const ReduceFns<T>& fns, const T* in, int64_t cols, ThreadPool& pool) {
  std::vector<T> parts(static_cast<size_t>((cols + kPiece - 1) / kPiece));
  pool.parallel_for(static_cast<int64_t>(parts.size()), [&](int64_t piece) {
    const int64_t first = piece * kPiece;
    parts[static_cast<size_t>(piece)] = fns.run(in + first, std::min(kPiece, cols - first));
  });
  return fns.run(parts.data(), static_cast<int64_t>(parts.size()));
}

template <class T>
void rows_of(const ReduceFns<T>& fns, const T* in, T* out, int64_t rows, int64_t cols,
             ThreadPool& pool) {
  if (cols > kPiece) {
    for (int64_t r = 0; r < rows; ++r) out[r] = long_row(fns, in + r * cols, cols, pool);
    return;
  }
  const int64_t step = std::max<int64_t>(kPiece / std::max<int64_t>(cols, 1), 1);
  pool.parallel_for((rows + step - 1) / step, [&](int64_t piece) {
    const int64_t end = std::min(rows, (piece + 1) * step);
    for (int64_t r = piece * step; r < end; ++r) out[r] = fns.run(in + r * cols, cols);
  });
}

template <class T>
void columns_of(const ReduceFns<T>& fns, const T* in, T* out, int64_t rows, int64_t cols,
                ThreadPool& pool) {
  const int64_t strips = (cols + kStrip - 1) / kStrip;
  const int64_t step = std::max<int64_t>(kPiece / kStrip / std::max<int64_t>(rows, 1), 1);
  pool.parallel_for((strips + step - 1) / step, [&](int64_t piece) {
    const int64_t end = std::min(cols, (piece + 1) * step * kStrip);
    for (int64_t c = piece * step * kStrip; c < end; c += kStrip)
      fns.strip(in + c, cols, rows, std::min(kStrip, cols - c), out + c);
  });
}

template <class T>
int64_t argmax(const T* in, int64_t cols) {
  int64_t best = 0;
  for (int64_t j = 1; j < cols; ++j)
    if (in[j] > in[best] || in[best] != in[best]) best = in[j] == in[j] ? j : best;
  return best;
}

template <class T>
void argmax_of(const T* in, int64_t* out, int64_t rows, int64_t cols, ThreadPool& pool) {
  const int64_t step = std::max<int64_t>(kPiece / std::max<int64_t>(cols, 1), 1);
  pool.parallel_for((rows + step - 1) / step, [&](int64_t piece) {
    const int64_t end = std::min(rows, (piece + 1) * step);
    for (int64_t r = piece * step; r < end; ++r) out[r] = argmax(in + r * cols, cols);
  });
}

}  // namespace

void reduce_rows(Reduction how, const float* in, float* out, int64_t rows, int64_t cols,
                 ThreadPool& pool, Isa isa) {
  rows_of(CAPSTAN_FOR_ISA(isa, find_float)(how), in, out, rows, cols, pool);
}
void reduce_rows(Reduction how, const double* in, double* out, int64_t rows, int64_t cols,
                 ThreadPool& pool, Isa isa) {
  rows_of(CAPSTAN_FOR_ISA(isa, find_double)(how), in, out, rows, cols, pool);
}
void reduce_columns(Reduction how, const float* in, float* out, int64_t rows, int64_t cols,
                    ThreadPool& pool, Isa isa) {
  columns_of(CAPSTAN_FOR_ISA(isa, find_float)(how), in, out, rows, cols, pool);
}
void reduce_columns(Reduction how, const double* in, double* out, int64_t rows, int64_t cols,
                    ThreadPool& pool, Isa isa) {
  columns_of(CAPSTAN_FOR_ISA(isa, find_double)(how), in, out, rows, cols, pool);
}
void argmax_rows(const float* in, int64_t* out, int64_t rows, int64_t cols, ThreadPool& pool) {
  argmax_of(in, out, rows, cols, pool);
}
void argmax_rows(const double* in, int64_t* out, int64_t rows, int64_t cols, ThreadPool& pool) {
  argmax_of(in, out, rows, cols, pool);
}

}  // namespace capstan
#endif
