#include "math/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/softmax.cc"
#include "hwy/foreach_target.h"
#include "math/functions-inl.h"

#ifndef CAPSTAN_KERNEL_SOFTMAX_FNS_
#define CAPSTAN_KERNEL_SOFTMAX_FNS_
namespace capstan {

// One row of `cols` elements, at least one.
template <class T>
struct SoftmaxFns {
  void (*softmax)(const T* x, T* out, int64_t cols);
  void (*log_softmax)(const T* x, T* out, int64_t cols);
  T (*cross_entropy)(const T* x, const T* labels, T* backprop, int64_t cols);
  T (*sparse)(const T* x, int64_t label, T* backprop, int64_t cols);
};

}  // namespace capstan
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

template <class T>
constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(T);

// Calls step(i, load, store) for each vector of the row. The last, partial one goes through a copy:
// load(p, pad) fills it up with `pad`, store(v, p) writes only what belongs to the row.
template <class T, class Step>
HWY_INLINE void for_vectors(int64_t n, const Step& step) {
  using V = hn::Vec<hn::ScalableTag<T>>;
  const hn::ScalableTag<T> d;
  constexpr int64_t kL = kLanes<T>;
  int64_t i = 0;
  for (; i + kL <= n; i += kL)
    step(
        i, [d](const T* p, T) HWY_ATTR -> V { return hn::LoadU(d, p); },
        [d](V v, T* p) HWY_ATTR { hn::StoreU(v, d, p); });
  if (i == n) return;
  const int64_t rest = n - i;
  const auto load = [d, rest](const T* p, T pad) HWY_ATTR -> V {
    HWY_ALIGN T lanes[kL];
    hn::Store(hn::Set(d, pad), d, lanes);
    std::copy(p, p + rest, lanes);
    return hn::Load(d, lanes);
  };
  const auto store = [d, rest](V v, T* p) HWY_ATTR {
    HWY_ALIGN T lanes[kL];
    hn::Store(v, d, lanes);
    std::copy(lanes, lanes + rest, p);
  };
  step(i, load, store);
}

template <class T>
HWY_INLINE T sum_lanes(hn::Vec<hn::ScalableTag<T>> v) {
  HWY_ALIGN T lanes[kLanes<T>];
  hn::Store(v, hn::ScalableTag<T>(), lanes);
  for (int64_t width = kLanes<T> / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  return lanes[0];
}

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

template <class T>
HWY_INLINE T row_max(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  auto all = hn::Set(d, kLowest<T>);
  for_vectors<T>(
      n, [&](int64_t i, auto load, auto) HWY_ATTR { all = hn::Max(all, load(x + i, kLowest<T>)); });
  return hn::GetLane(hn::MaxOfLanes(d, all));
}

// out = exp(x - largest), where out is not null; returns the sum.
template <class T>
HWY_INLINE T exp_row(const T* x, T largest, T* out, int64_t n) {
  const hn::ScalableTag<T> d;
  auto sum = hn::Zero(d);
  for_vectors<T>(n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto e = exp(d, hn::Sub(load(x + i, kLowest<T>), hn::Set(d, largest)));
    sum = hn::Add(sum, e);
    if (out != nullptr) store(e, out + i);
  });
  return sum_lanes<T>(sum);
}

template <class T>
HWY_INLINE void scale_row(T* x, T factor, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors<T>(n, [&](int64_t i, auto load, auto store)
                        HWY_ATTR { store(hn::Mul(load(x + i, 0), hn::Set(d, factor)), x + i); });
}

template <class T>
void softmax(const T* x, T* out, int64_t n) {
  const T sum = exp_row(x, row_max(x, n), out, n);
  scale_row(out, 1 / sum, n);
}

template <class T>
void log_softmax(const T* x, T* out, int64_t n) {
  const hn::ScalableTag<T> d;
  const T largest = row_max(x, n);
  const T log_sum = std::log(exp_row<T>(x, largest, nullptr, n));
  for_vectors<T>(n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    store(hn::Sub(hn::Sub(load(x + i, 0), hn::Set(d, largest)), hn::Set(d, log_sum)), out + i);
  });
}

// The loss needs the logits, which backprop may overwrite: hence it is summed first.
template <class T>
T cross_entropy(const T* x, const T* labels, T* backprop, int64_t n) {
  const hn::ScalableTag<T> d;
  const T largest = row_max(x, n);
  const T total = exp_row<T>(x, largest, nullptr, n), log_total = std::log(total);
  auto loss = hn::Zero(d);
  for_vectors<T>(n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto label = load(labels + i, 0);
    const auto centred = hn::Sub(load(x + i, 0), hn::Set(d, largest));
    // A label of 0 for a logit of minus infinity makes a NaN, as in TensorFlow.
    loss = hn::Add(loss, hn::Mul(label, hn::Sub(hn::Set(d, log_total), centred)));
    const auto share = hn::Mul(exp(d, centred), hn::Set(d, 1 / total));
    store(hn::Sub(share, label), backprop + i);
  });
  return sum_lanes<T>(loss);
}

template <class T>
T sparse_cross_entropy(const T* x, int64_t label, T* backprop, int64_t n) {
  const T largest = row_max(x, n), logit = x[label];
  const T total = exp_row(x, largest, backprop, n);
  scale_row(backprop, 1 / total, n);
  backprop[label] -= 1;
  return std::log(total) - (logit - largest);
}

template <class T>
SoftmaxFns<T> find() {
  return {softmax<T>, log_softmax<T>, cross_entropy<T>, sparse_cross_entropy<T>};
}

}  // namespace

SoftmaxFns<float> find_float_softmax() { return find<float>(); }
SoftmaxFns<double> find_double_softmax() { return find<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

template <class T>
SoftmaxFns<T> find(Isa isa);
template <>
SoftmaxFns<float> find<float>(Isa isa) {
  return CAPSTAN_FOR_ISA(isa, find_float_softmax)();
}
template <>
SoftmaxFns<double> find<double>(Isa isa) {
  return CAPSTAN_FOR_ISA(isa, find_double_softmax)();
}

constexpr int64_t kPiece = 4096;  // elements: what a thread takes at a time

template <class T, class Row>
void for_rows(const SoftmaxArgs<T>& in, ThreadPool& pool, const Row& row) {
  const int64_t step = std::max<int64_t>(kPiece / std::max<int64_t>(in.cols, 1), 1);
  pool.parallel_for((in.rows + step - 1) / step, [&](int64_t piece) {
    const int64_t end = std::min(in.rows, (piece + 1) * step);
    for (int64_t r = piece * step; r < end; ++r) row(r, in.logits + r * in.cols);
  });
}

}  // namespace

template <class T>
void softmax_rows(const SoftmaxArgs<T>& in, T* out, ThreadPool& pool, Isa isa) {
  if (in.cols == 0) return;
  const SoftmaxFns<T> fns = find<T>(isa);
  for_rows(in, pool, [&](int64_t r, const T* x) { fns.softmax(x, out + r * in.cols, in.cols); });
}

template <class T>
void log_softmax_rows(const SoftmaxArgs<T>& in, T* out, ThreadPool& pool, Isa isa) {
  if (in.cols == 0) return;
  const SoftmaxFns<T> fns = find<T>(isa);
  for_rows(in, pool,
           [&](int64_t r, const T* x) { fns.log_softmax(x, out + r * in.cols, in.cols); });
}

template <class T>
void cross_entropy_rows(const SoftmaxArgs<T>& in, const T* labels, T* loss, T* backprop,
                        ThreadPool& pool, Isa isa) {
  if (in.cols == 0) return static_cast<void>(std::fill_n(loss, in.rows, T(0)));
  const SoftmaxFns<T> fns = find<T>(isa);
  for_rows(in, pool, [&](int64_t r, const T* x) {
    loss[r] = fns.cross_entropy(x, labels + r * in.cols, backprop + r * in.cols, in.cols);
  });
}

template <class T>
void sparse_cross_entropy_rows(const SoftmaxArgs<T>& in, const int64_t* labels, T* loss,
                               T* backprop, ThreadPool& pool, Isa isa) {
  const SoftmaxFns<T> fns = find<T>(isa);
  for_rows(in, pool, [&](int64_t r, const T* x) {
    loss[r] = fns.sparse(x, labels[r], backprop + r * in.cols, in.cols);
  });
}

template void softmax_rows(const SoftmaxArgs<float>&, float*, ThreadPool&, Isa);
template void softmax_rows(const SoftmaxArgs<double>&, double*, ThreadPool&, Isa);
template void log_softmax_rows(const SoftmaxArgs<float>&, float*, ThreadPool&, Isa);
template void log_softmax_rows(const SoftmaxArgs<double>&, double*, ThreadPool&, Isa);
template void cross_entropy_rows(const SoftmaxArgs<float>&, const float*, float*, float*,
                                 ThreadPool&, Isa);
template void cross_entropy_rows(const SoftmaxArgs<double>&, const double*, double*, double*,
                                 ThreadPool&, Isa);
template void sparse_cross_entropy_rows(const SoftmaxArgs<float>&, const int64_t*, float*, float*,
                                        ThreadPool&, Isa);
template void sparse_cross_entropy_rows(const SoftmaxArgs<double>&, const int64_t*, double*,
                                        double*, ThreadPool&, Isa);

}  // namespace capstan
#endif
