// Arithmetic of one operand, for all numeric types, and the rectifiers with their gradients.

#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernel/blocks.h"
#include "kernel/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/blocks_unary.cc"
#include "hwy/foreach_target.h"
#include "kernel/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

template <class T>
using Wrap = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

struct Neg {
  template <class D, class V>
  static HWY_INLINE V many(D, V x) {
    return hn::Neg(x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return static_cast<T>(Wrap<T>(0) - Wrap<T>(x));
  }
};

struct Abs {
  template <class D, class V>
  static HWY_INLINE V many(D, V x) {
    return hn::Abs(x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return x < 0 ? Neg::one(x) : x;
  }
};

struct Sign {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    // NaN stays what it is; a zero of either sign becomes 0.
    const V one = hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(hn::Set(d, 1), x));
    return hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), one);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return static_cast<T>((x > 0) - (x < 0));
  }
};

struct Square {
  template <class D, class V>
  static HWY_INLINE V many(D, V x) {
    return hn::Mul(x, x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return static_cast<T>(Wrap<T>(x) * Wrap<T>(x));
  }
};

struct Reciprocal {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::Div(hn::Set(d, 1), x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    if (x == 0) throw invalid_argument("the reciprocal of the whole number zero");
    return static_cast<T>(T(1) / x);
  }
};

// Whole numbers are round already.
struct Floor {
  template <class D, class V>
  static HWY_INLINE V many(D, V x) {
    return hn::Floor(x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return x;
  }
};

struct Ceil {
  template <class D, class V>
  static HWY_INLINE V many(D, V x) {
    return hn::Ceil(x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return x;
  }
};

struct Rint {
  template <class D, class V>
  static HWY_INLINE V many(D, V x) {
    return hn::Round(x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return x;
  }
};

struct Relu {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return x < 0 ? T(0) : x;
  }
};

struct Relu6 {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    const V six = hn::Set(d, 6);
    return hn::IfThenElse(hn::Gt(x, six), six, Relu::many(d, x));
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return x > 6 ? T(6) : Relu::one(x);
  }
};

// Products with 1 or 0, as in TensorFlow: a NaN or an infinity stays visible where a unit is
// inactive.
struct ReluGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V x) {
    return hn::Mul(dy, hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1)));
  }
  template <class T>
  static HWY_INLINE T one(T dy, T x) {
    return x > 0 ? dy : T(0);
  }
};

struct Relu6Grad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V dy, V x) {
    const auto inside = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, hn::Set(d, 6)));
    return hn::Mul(dy, hn::IfThenElseZero(inside, hn::Set(d, 1)));
  }
  template <class T>
  static HWY_INLINE T one(T dy, T x) {
    return x > 0 && x < 6 ? dy : T(0);
  }
};

constexpr BlockFn (*kFind[])(DType) = {
    number_1<Neg>,   number_1<Abs>,   number_1<Sign>,     number_1<Square>,
    number_1<Floor>, number_1<Ceil>,  number_1<Rint>,     number_1<Reciprocal>,
    number_1<Relu>,  number_1<Relu6>, number_2<ReluGrad>, number_2<Relu6Grad>,
};

}  // namespace

BlockFn find_unary(int op, DType type) { return kFind[op](type); }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

// In the order of kFind.
enum {
  kNeg,
  kAbs,
  kSign,
  kSquare,
  kFloor,
  kCeil,
  kRint,
  kReciprocal,
  kRelu,
  kRelu6,
  kReluGrad,
  kRelu6Grad
};

BlockFn find(int op, DType type, Isa isa) { return CAPSTAN_FOR_ISA(isa, find_unary)(op, type); }

}  // namespace

BlockFn neg_block(DType type, Isa isa) { return find(kNeg, type, isa); }
BlockFn abs_block(DType type, Isa isa) { return find(kAbs, type, isa); }
BlockFn sign_block(DType type, Isa isa) { return find(kSign, type, isa); }
BlockFn square_block(DType type, Isa isa) { return find(kSquare, type, isa); }
BlockFn reciprocal_block(DType type, Isa isa) { return find(kReciprocal, type, isa); }
BlockFn floor_block(DType type, Isa isa) { return find(kFloor, type, isa); }
BlockFn ceil_block(DType type, Isa isa) { return find(kCeil, type, isa); }
BlockFn rint_block(DType type, Isa isa) { return find(kRint, type, isa); }
BlockFn relu_block(DType type, Isa isa) { return find(kRelu, type, isa); }
BlockFn relu6_block(DType type, Isa isa) { return find(kRelu6, type, isa); }
BlockFn relu_grad_block(DType type, Isa isa) { return find(kReluGrad, type, isa); }
BlockFn relu6_grad_block(DType type, Isa isa) { return find(kRelu6Grad, type, isa); }

}  // namespace capstan
#endif
