// Functions of one real operand, and gradients of two.

#include <cmath>

#include "kernel/blocks.h"
#include "kernel/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/blocks_math.cc"
#include "hwy/foreach_target.h"
#include "kernel/blocks-inl.h"
#include "kernel/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

struct Sqrt {
  template <class D, class V>
  static HWY_INLINE V many(D, V x) {
    return hn::Sqrt(x);
  }
};
struct Rsqrt {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::Div(hn::Set(d, 1), hn::Sqrt(x));
  }
};
struct Exp {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return exp(d, x);
  }
};
struct Expm1 {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return expm1(d, x);
  }
};
struct Log {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return log(d, x);
  }
};
struct Log1p {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return log1p(d, x);
  }
};
struct Tanh {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return tanh(d, x);
  }
};
struct Sigmoid {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return sigmoid(d, x);
  }
};

// libm's: vectors would need another reduction for large arguments.
struct Sin {
  static constexpr bool kScalar = true;
  template <class T>
  static HWY_INLINE T one(T x) {
    return std::sin(x);
  }
};
struct Cos {
  static constexpr bool kScalar = true;
  template <class T>
  static HWY_INLINE T one(T x) {
    return std::cos(x);
  }
};

struct Elu {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), expm1(d, x), x);
  }
};

// log(1 + exp(x)), written so that neither end overflows.
struct Softplus {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    const V rest = log1p(d, exp(d, hn::Neg(hn::Abs(x))));
    return hn::Add(hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x), rest);
  }
};

struct Softsign {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::Div(x, hn::Add(hn::Set(d, 1), hn::Abs(x)));
  }
};

struct SigmoidGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    return hn::Mul(dy, hn::Mul(y, hn::Sub(hn::Set(d, 1), y)));
  }
};
struct TanhGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    return hn::Mul(dy, hn::Sub(hn::Set(d, 1), hn::Mul(y, y)));
  }
};

// As in TensorFlow a gradient of 0 stays 0 where the slope is infinite or not a number.
template <class D, class V>
HWY_INLINE V unless_zero(D d, V dy, V product) {
  return hn::IfThenZeroElse(hn::Eq(dy, hn::Zero(d)), product);
}

struct SqrtGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    return unless_zero(d, dy, hn::Div(hn::Mul(dy, number(d, 0.5)), y));
  }
};
struct RsqrtGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    const V product = hn::Mul(hn::Mul(number(d, -0.5), dy), hn::Mul(hn::Mul(y, y), y));
    return unless_zero(d, dy, hn::Add(product, hn::Zero(d)));  // no zero has a sign
  }
};
struct ReciprocalGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    return unless_zero(d, dy, hn::Mul(hn::Neg(dy), hn::Mul(y, y)));
  }
};
struct EluGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V y) {
    const V slope = hn::Add(y, hn::Set(d, 1));
    return hn::IfThenElse(hn::Lt(y, hn::Zero(d)), hn::Mul(dy, slope), dy);
  }
};
struct SoftplusGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V x) {
    return hn::Mul(dy, sigmoid(d, x));
  }
};
struct SoftsignGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V x) {
    const V size = hn::Add(hn::Set(d, 1), hn::Abs(x));
    return hn::Div(dy, hn::Mul(size, size));
  }
};

constexpr BlockFn (*kFind[])(DType) = {
    real_1<Sqrt>,         real_1<Rsqrt>,          real_1<Exp>,      real_1<Expm1>,
    real_1<Log>,          real_1<Log1p>,          real_1<Sin>,      real_1<Cos>,
    real_1<Tanh>,         real_1<Sigmoid>,        real_1<Elu>,      real_1<Softplus>,
    real_1<Softsign>,     real_2<SigmoidGrad>,    real_2<TanhGrad>, real_2<SqrtGrad>,
    real_2<RsqrtGrad>,    real_2<ReciprocalGrad>, real_2<EluGrad>,  real_2<SoftplusGrad>,
    real_2<SoftsignGrad>,
};

}  // namespace

BlockFn find_math(int op, DType type) { return kFind[op](type); }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

// In the order of kFind.
enum {
  kSqrt,
  kRsqrt,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kElu,
  kSoftplus,
  kSoftsign,
  kSigmoidGrad,
  kTanhGrad,
  kSqrtGrad,
  kRsqrtGrad,
  kReciprocalGrad,
  kEluGrad,
  kSoftplusGrad,
  kSoftsignGrad
};

BlockFn find(int op, DType type, Isa isa) { return CAPSTAN_FOR_ISA(isa, find_math)(op, type); }

}  // namespace

BlockFn sqrt_block(DType type, Isa isa) { return find(kSqrt, type, isa); }
BlockFn rsqrt_block(DType type, Isa isa) { return find(kRsqrt, type, isa); }
BlockFn exp_block(DType type, Isa isa) { return find(kExp, type, isa); }
BlockFn expm1_block(DType type, Isa isa) { return find(kExpm1, type, isa); }
BlockFn log_block(DType type, Isa isa) { return find(kLog, type, isa); }
BlockFn log1p_block(DType type, Isa isa) { return find(kLog1p, type, isa); }
BlockFn sin_block(DType type, Isa isa) { return find(kSin, type, isa); }
BlockFn cos_block(DType type, Isa isa) { return find(kCos, type, isa); }
BlockFn tanh_block(DType type, Isa isa) { return find(kTanh, type, isa); }
BlockFn sigmoid_block(DType type, Isa isa) { return find(kSigmoid, type, isa); }
BlockFn elu_block(DType type, Isa isa) { return find(kElu, type, isa); }
BlockFn softplus_block(DType type, Isa isa) { return find(kSoftplus, type, isa); }
BlockFn softsign_block(DType type, Isa isa) { return find(kSoftsign, type, isa); }
BlockFn sigmoid_grad_block(DType type, Isa isa) { return find(kSigmoidGrad, type, isa); }
BlockFn tanh_grad_block(DType type, Isa isa) { return find(kTanhGrad, type, isa); }
BlockFn sqrt_grad_block(DType type, Isa isa) { return find(kSqrtGrad, type, isa); }
BlockFn rsqrt_grad_block(DType type, Isa isa) { return find(kRsqrtGrad, type, isa); }
BlockFn reciprocal_grad_block(DType type, Isa isa) { return find(kReciprocalGrad, type, isa); }
BlockFn elu_grad_block(DType type, Isa isa) { return find(kEluGrad, type, isa); }
BlockFn softplus_grad_block(DType type, Isa isa) { return find(kSoftplusGrad, type, isa); }
BlockFn softsign_grad_block(DType type, Isa isa) { return find(kSoftsignGrad, type, isa); }

}  // namespace capstan
#endif
