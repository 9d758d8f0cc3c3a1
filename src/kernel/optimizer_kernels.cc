#include "kernel/optimizer_kernels.h"

#include "math/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/optimizer_kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// step(d, i) for whole vectors, then element by element.
template <class T, class Step>
HWY_INLINE void for_vectors(int64_t n, const Step& step) {
  const hn::ScalableTag<T> d;
  const auto lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) step(d, i);
  for (; i < n; ++i) step(hn::CappedTag<T, 1>(), i);
}

template <class T>
void gradient_descent(T* var, const T* grad, int64_t n, T lr) {
  for_vectors<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto change = hn::Mul(hn::LoadU(d, grad + i), hn::Set(d, lr));
    hn::StoreU(hn::Sub(hn::LoadU(d, var + i), change), d, var + i);
  });
}

template <class T>
void momentum(T* var, T* accum, const T* grad, int64_t n, T lr, T momentum, bool nesterov) {
  for_vectors<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto rate = hn::Set(d, lr), keep = hn::Set(d, momentum);
    const auto g = hn::LoadU(d, grad + i);
    const auto a = hn::Add(hn::Mul(hn::LoadU(d, accum + i), keep), g);
    hn::StoreU(a, d, accum + i);
    auto change = hn::Mul(a, rate);
    if (nesterov) change = hn::Add(hn::Mul(g, rate), hn::Mul(hn::Mul(a, keep), rate));
    hn::StoreU(hn::Sub(hn::LoadU(d, var + i), change), d, var + i);
  });
}

template <class T>
void adagrad(T* var, T* accum, const T* grad, int64_t n, T lr, bool update_slots) {
  for_vectors<T>(n, [=](auto d, int64_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, grad + i);
    auto a = hn::LoadU(d, accum + i);
    if (update_slots) {
      a = hn::Add(a, hn::Mul(g, g));
      hn::StoreU(a, d, accum + i);
    }
    const auto change = hn::Div(hn::Mul(g, hn::Set(d, lr)), hn::Sqrt(a));
    hn::StoreU(hn::Sub(hn::LoadU(d, var + i), change), d, var + i);
  });
}

template <class T>
void adam(T* var, T* m, T* v, const T* grad, int64_t n, const AdamRates<T>& rates) {
  for_vectors<T>(n, [=, r = rates](auto d, int64_t i) HWY_ATTR {
    const auto fresh1 = hn::Set(d, T(1) - r.beta1), fresh2 = hn::Set(d, T(1) - r.beta2);
    const auto g = hn::LoadU(d, grad + i);
    const auto m0 = hn::LoadU(d, m + i), v0 = hn::LoadU(d, v + i);
    const auto m1 = hn::Add(m0, hn::Mul(hn::Sub(g, m0), fresh1));
    const auto v1 = hn::Add(v0, hn::Mul(hn::Sub(hn::Mul(g, g), v0), fresh2));
    hn::StoreU(m1, d, m + i);
    hn::StoreU(v1, d, v + i);
    auto direction = m1;
    if (r.nesterov) direction = hn::Add(hn::Mul(g, fresh1), hn::Mul(m1, hn::Set(d, r.beta1)));
    const auto scale = hn::Add(hn::Sqrt(v1), hn::Set(d, r.epsilon));
    const auto change = hn::Div(hn::Mul(direction, hn::Set(d, r.rate)), scale);
    hn::StoreU(hn::Sub(hn::LoadU(d, var + i), change), d, var + i);
  });
}

}  // namespace

OptimizerKernels<float> float_optimizers() {
  return {gradient_descent<float>, momentum<float>, adagrad<float>, adam<float>};
}
OptimizerKernels<double> double_optimizers() {
  return {gradient_descent<double>, momentum<double>, adagrad<double>, adam<double>};
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

template <>
OptimizerKernels<float> optimizer_kernels<float>(Isa isa) {
  return CAPSTAN_FOR_ISA(isa, float_optimizers)();
}

template <>
OptimizerKernels<double> optimizer_kernels<double>(Isa isa) {
  return CAPSTAN_FOR_ISA(isa, double_optimizers)();
}

}  // namespace capstan
#endif
