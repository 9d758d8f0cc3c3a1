// Element-wise arithmetic of one tensor, and rounding.

#include "base/error.h"
#include "math/simd.h"
#include "math/wrapping.h"
#include "ops/families.h"
#include "ops/unary_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary.cc"
#include "hwy/foreach_target.h"
#include "math/blocks-inl.h"
#include "math/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

struct Neg {
  template <class D, class V>
  static HWY_INLINE V many(D, V x) {
    return hn::Neg(x);
  }
  template <class T>
  static HWY_INLINE T one(T x) {
    return wrapping_subtract(T(0), x);
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
    return wrapping_multiply(x, x);
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

struct ReciprocalGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    return unless_zero(d, dy, hn::Mul(hn::Neg(dy), hn::Mul(y, y)));
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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

Values nothing(GradContext&) { return {{}}; }

Values abs_gradient(GradContext& g) {
  Output sign = g.op("Sign", {g.x(0)});
  return {mul(g.graph(), g.dy(0), sign)};
}

Values square_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output two = g.constant(number(g.x(0).dtype(), 2));
  Output twice = g.op("Mul", {g.x(0), two});
  return {g.op("Mul", {g.dy(0), twice})};
}

constexpr OpDef kNeg = unary("Neg", "-x.", kSignedTypes, CAPSTAN_BLOCK(number_1, Neg),
                             [](GradContext& g) -> Values { return {neg(g.graph(), g.dy(0))}; });
constexpr OpDef kAbs = unary("Abs", "The absolute value of x.", kSignedTypes,
                             CAPSTAN_BLOCK(number_1, Abs), abs_gradient);
constexpr OpDef kSign =
    unary("Sign", "-1, 0 or 1: the sign of x.", kSignedTypes, CAPSTAN_BLOCK(number_1, Sign),
          [](GradContext& g) -> Values { return {zeros_like(g.graph(), g.x(0))}; })
        .in_python("sign math.sign");
constexpr OpDef kSquare =
    unary("Square", "x * x.", kNumberTypes, CAPSTAN_BLOCK(number_1, Square), square_gradient)
        .in_python("square math.square");
constexpr OpDef kReciprocal =
    unary("Reciprocal", "1 / x.", kSignedTypes, CAPSTAN_BLOCK(number_1, Reciprocal),
          [](GradContext& g) { return by_value(g, "ReciprocalGrad"); }, {"float[2,3](0.5,2)"})
        .in_python("reciprocal math.reciprocal");
constexpr OpDef kInv =
    unary("Inv", "1 / x.", kSignedTypes, CAPSTAN_BLOCK(number_1, Reciprocal),
          [](GradContext& g) { return by_value(g, "ReciprocalGrad"); }, {"float[2,3](0.5,2)"})
        .in_python("inv");
constexpr OpDef kReciprocalGrad =
    unary_grad("ReciprocalGrad", "-dy * y * y.", CAPSTAN_BLOCK(real_2, ReciprocalGrad),
               [](GradContext& g) { return minus_two(g, "ReciprocalGrad"); });
constexpr OpDef kFloor = unary("Floor", "The largest whole number not above x.", kRealTypes,
                               CAPSTAN_BLOCK(number_1, Floor), nothing)
                             .in_python("floor math.floor");
constexpr OpDef kCeil = unary("Ceil", "The smallest whole number not below x.", kRealTypes,
                              CAPSTAN_BLOCK(number_1, Ceil), nothing)
                            .in_python("ceil math.ceil");
constexpr OpDef kRound = unary("Round", "The nearest whole number; halves go to the even one.",
                               kSignedTypes, CAPSTAN_BLOCK(number_1, Rint), nothing);
constexpr OpDef kRint = unary("Rint", "The nearest whole number; halves go to the even one.",
                              kRealTypes, CAPSTAN_BLOCK(number_1, Rint), nothing)
                            .in_python("rint math.rint");

constexpr const OpDef* kRows[] = {
    &kNeg,   &kAbs,  &kSign,  &kSquare, &kReciprocal, &kInv, &kReciprocalGrad,
    &kFloor, &kCeil, &kRound, &kRint};

}  // namespace

OpFamily unary_ops() { return kRows; }

}  // namespace capstan
#endif
