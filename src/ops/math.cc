// Roots, exponentials, logarithms, sines and their kin, element by element.

#include <cmath>

#include "math/simd.h"
#include "ops/families.h"
#include "ops/unary_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/math.cc"
#include "hwy/foreach_target.h"
#include "math/blocks-inl.h"
#include "math/functions-inl.h"

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

struct SqrtGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    return unless_zero(d, dy, hn::Div(hn::Mul(dy, number(d, 0.5)), y));
  }
};

struct Rsqrt {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return hn::Div(hn::Set(d, 1), hn::Sqrt(x));
  }
};

struct RsqrtGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    const V product = hn::Mul(hn::Mul(number(d, -0.5), dy), hn::Mul(hn::Mul(y, y), y));
    return unless_zero(d, dy, hn::Add(product, hn::Zero(d)));  // no zero has a sign
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

struct Sigmoid {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return sigmoid(d, x);
  }
};

struct SigmoidGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    return hn::Mul(dy, hn::Mul(y, hn::Sub(hn::Set(d, 1), y)));
  }
};

struct Tanh {
  template <class D, class V>
  static HWY_INLINE V many(D d, V x) {
    return tanh(d, x);
  }
};

struct TanhGrad {
  template <class D, class V>
  static HWY_INLINE V many(D d, V y, V dy) {
    return hn::Mul(dy, hn::Sub(hn::Set(d, 1), hn::Mul(y, y)));
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

Values exp_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  return {mul(g.graph(), g.dy(0), g.y(0))};
}

Values expm1_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output exp = g.op("Exp", {g.x(0)});
  return {mul(g.graph(), g.dy(0), exp)};
}

Values log_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output inverse = g.op("Reciprocal", {g.x(0)});
  return {mul(g.graph(), g.dy(0), inverse)};
}

Values log1p_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output sum = add(g.graph(), number(g.x(0).dtype(), 1), g.x(0));
  Output inverse = g.op("Reciprocal", {sum});
  return {mul(g.graph(), g.dy(0), inverse)};
}

Values sin_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output cos = g.op("Cos", {g.x(0)});
  return {mul(g.graph(), g.dy(0), cos)};
}

Values cos_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output minus = neg(g.graph(), g.dy(0));
  Output sin = g.op("Sin", {g.x(0)});
  return {mul(g.graph(), minus, sin)};
}

// The same, after the gradient that came: TensorFlow keeps such nodes from running early.
Values by_value_after(GradContext& g, std::string_view op) {
  ScopeGuard after = after_grad(g);
  return by_value(g, op);
}

Values sigmoid_grad_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Graph& graph = g.graph();
  Output gb = mul(graph, g.dy(0), g.x(1));
  Output twice = mul(graph, mul(graph, number(gb.dtype(), 2), gb), g.x(0));
  Output ga = sub(graph, gb, twice);
  return {ga, g.op("SigmoidGrad", {g.x(0), g.dy(0)})};
}

Values sqrt_grad_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Graph& graph = g.graph();
  Output quotient = truediv(graph, g.dy(0), g.x(0));
  Output ga = mul(graph, neg(graph, quotient), g.y(0));
  return {ga, mul(graph, number(quotient.dtype(), 0.5), quotient)};
}

Values rsqrt_grad_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Graph& graph = g.graph();
  Output scaled = mul(graph, mul(graph, number(g.dy(0).dtype(), -1.5), g.dy(0)), g.x(1));
  Output ga = mul(graph, scaled, g.op("Square", {g.x(0)}));
  return {ga, g.op("RsqrtGrad", {g.x(0), g.dy(0)})};
}

constexpr OpDef kSqrt =
    unary("Sqrt", "The square root of x.", kRealTypes, CAPSTAN_BLOCK(real_1, Sqrt),
          [](GradContext& g) { return by_value(g, "SqrtGrad"); }, {"float[2,3](0.5,2)"})
        .in_python("sqrt math.sqrt");
constexpr OpDef kSqrtGrad = unary_grad("SqrtGrad", "dy * 0.5 / y.", CAPSTAN_BLOCK(real_2, SqrtGrad),
                                       sqrt_grad_gradient, {"float[2,3](0.5,2) float[2,3]"});
constexpr OpDef kRsqrt =
    unary("Rsqrt", "1 / sqrt(x).", kRealTypes, CAPSTAN_BLOCK(real_1, Rsqrt),
          [](GradContext& g) { return by_value(g, "RsqrtGrad"); }, {"float[2,3](0.5,2)"})
        .in_python("rsqrt math.rsqrt");
constexpr OpDef kRsqrtGrad = unary_grad("RsqrtGrad", "dy * -0.5 * y^3.",
                                        CAPSTAN_BLOCK(real_2, RsqrtGrad), rsqrt_grad_gradient);
constexpr OpDef kExp =
    unary("Exp", "e to the power x.", kRealTypes, CAPSTAN_BLOCK(real_1, Exp), exp_gradient)
        .in_python("exp math.exp");
constexpr OpDef kExpm1 = unary("Expm1", "exp(x) - 1, exact near zero.", kRealTypes,
                               CAPSTAN_BLOCK(real_1, Expm1), expm1_gradient)
                             .in_python("expm1 math.expm1");
constexpr OpDef kLog = unary("Log", "The natural logarithm of x.", kRealTypes,
                             CAPSTAN_BLOCK(real_1, Log), log_gradient, {"float[2,3](0.5,2)"})
                           .in_python("log math.log");
constexpr OpDef kLog1p = unary("Log1p", "log(1 + x), exact near zero.", kRealTypes,
                               CAPSTAN_BLOCK(real_1, Log1p), log1p_gradient, {"float[2,3](-0.5,2)"})
                             .in_python("log1p math.log1p");
constexpr OpDef kSin =
    unary("Sin", "The sine of x.", kRealTypes, CAPSTAN_BLOCK(real_1, Sin), sin_gradient)
        .in_python("sin math.sin");
constexpr OpDef kCos =
    unary("Cos", "The cosine of x.", kRealTypes, CAPSTAN_BLOCK(real_1, Cos), cos_gradient)
        .in_python("cos math.cos");
constexpr OpDef kSigmoid =
    unary("Sigmoid", "1 / (1 + exp(-x)).", kRealTypes, CAPSTAN_BLOCK(real_1, Sigmoid),
          [](GradContext& g) { return by_value_after(g, "SigmoidGrad"); });
constexpr OpDef kSigmoidGrad = unary_grad(
    "SigmoidGrad", "dy * y * (1 - y).", CAPSTAN_BLOCK(real_2, SigmoidGrad), sigmoid_grad_gradient);
constexpr OpDef kTanh =
    unary("Tanh", "The hyperbolic tangent of x.", kRealTypes, CAPSTAN_BLOCK(real_1, Tanh),
          [](GradContext& g) { return by_value_after(g, "TanhGrad"); })
        .in_python("tanh nn.tanh math.tanh");
constexpr OpDef kTanhGrad =
    unary_grad("TanhGrad", "dy * (1 - y * y).", CAPSTAN_BLOCK(real_2, TanhGrad),
               [](GradContext& g) { return minus_two(g, "TanhGrad"); });

constexpr const OpDef* kRows[] = {&kSqrt,    &kSqrtGrad,    &kRsqrt, &kRsqrtGrad, &kExp,
                                  &kExpm1,   &kLog,         &kLog1p, &kSin,       &kCos,
                                  &kSigmoid, &kSigmoidGrad, &kTanh,  &kTanhGrad};

}  // namespace

OpFamily math_ops() { return kRows; }

}  // namespace capstan
#endif
