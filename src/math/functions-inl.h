// exp, log and their kin on vectors of float or double, with libm's answers for NaN, the infinities
// and numbers near the limits; compiled once per instruction set (see Highway's -inl headers).

#if defined(CAPSTAN_MATH_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_MATH_FUNCTIONS_INL_H_
#undef CAPSTAN_MATH_FUNCTIONS_INL_H_
#else
#define CAPSTAN_MATH_FUNCTIONS_INL_H_
#endif

#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
constexpr bool kSingle = sizeof(hn::TFromD<D>) == 4;

template <class D>
HWY_INLINE hn::Vec<D> number(D d, double x) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(x));
}

template <class D>
HWY_INLINE hn::Vec<D> infinity(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
}

template <class D, class V>
HWY_INLINE V exp(D d, V x) {
  // Beyond the limit the result is infinite already, and Highway's exponent would wrap around.
  const V limit = number(d, kSingle<D> ? 104.0 : 720.0);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Min(x, limit)));
}

template <class D, class V>
HWY_INLINE V expm1(D d, V x) {
  const V limit = number(d, kSingle<D> ? 104.0 : 720.0);
  const V y = hn::Expm1(d, hn::Min(x, limit));
  // Keeps NaN and the sign of zero.
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Eq(x, hn::Zero(d))), x, y);
}

// What log answers at the edge of its range; y is its value inside.
template <class D, class V>
HWY_INLINE V log_edges(D d, V x, V y) {
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity(d)), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::NaN(d), y);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Eq(x, infinity(d))), x, y);
}

template <class D, class V>
HWY_INLINE V log(D d, V x) {
  return log_edges(d, x, hn::Log(d, x));
}

template <class D, class V>
HWY_INLINE V log1p(D d, V x) {
  const V sum = hn::Add(x, hn::Set(d, 1));
  const V y = log_edges(d, sum, hn::Log1p(d, x));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
}

template <class D, class V>
HWY_INLINE V horner(D, V, V sum) {
  return sum;
}
template <class D, class V, class... Rest>
HWY_INLINE V horner(D d, V x, V sum, double next, Rest... rest) {
  return horner(d, x, hn::MulAdd(sum, x, number(d, next)), rest...);
}

// (tanh(x) / x - 1) / z for z = x * x and |x| <= 0.625: an interpolation at Chebyshev's nodes, off
// by 5e-10 for float and 1e-18 for double.
template <class D, class V>
HWY_INLINE V tanh_series(D d, V z) {
  if constexpr (kSingle<D>) {
    return horner(d, z, number(d, 0.0022926473569971762), -0.0083438595045099223,
                  0.021768892383791811, -0.053959256349293116, 0.13333303543284378,
                  -0.33333333172050478);
  } else {
    return horner(d, z, number(d, 6.4846121563163947781e-6), -0.000031199968741786462494,
                  0.000092570158526029785078, -0.00023759014908800235279, 0.00058966050304721167755,
                  -0.0014557753814086394183, 0.0035921217472709825708, -0.0088632351029350290604,
                  0.021869488518994311877, -0.053968253967896664812, 0.13333333333333041306,
                  -0.33333333333333332937);
  }
}

template <class D, class V>
HWY_INLINE V tanh(D d, V x) {
  const V size = hn::Abs(x), z = hn::Mul(x, x), one = hn::Set(d, 1);
  const V small = hn::MulAdd(hn::Mul(x, z), tanh_series(d, z), x);
  const V grown = exp(d, hn::Add(size, size));
  const V large = hn::Sub(one, hn::Div(number(d, 2), hn::Add(grown, one)));
  // The sign of x is that of the result, a zero's too.
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, number(d, 0.625)), small, large), x);
}

template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1);
  const V shrunk = exp(d, hn::Neg(hn::Abs(x)));
  const V top = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), shrunk, one);
  return hn::Div(top, hn::Add(one, shrunk));
}

// As in TensorFlow a gradient of 0 stays 0 where the slope is infinite or not a number.
template <class D, class V>
HWY_INLINE V unless_zero(D d, V dy, V product) {
  return hn::IfThenZeroElse(hn::Eq(dy, hn::Zero(d)), product);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif
