// Element-wise functions of one tensor, and those of a function's value and the gradient that came.

#include "graph/shape_context.h"
#include "kernel/blocks.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

namespace capstan {
namespace {

using BlockChoice = BlockFn (*)(DType, Isa);
using Gradient = Values (*)(GradContext&);
using Samples = RowList<std::string_view, 4>;

constexpr OpDef unary(std::string_view name, std::string_view doc, std::string_view types,
                      BlockChoice block, Gradient gradient, Samples samples = {"float[2,3]"}) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "T"}},
          .outputs = {{"y", "T"}},
          .attrs = {{"T", types}},
          .shape = same_shape,
          .block = block,
          .gradient = gradient,
          .samples = samples};
}

// f'(x) * dy out of y = f(x).
constexpr OpDef unary_grad(std::string_view name, std::string_view doc, BlockChoice block,
                           Gradient gradient, Samples samples = {"float[2,3] float[2,3]"}) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"y", "T"}, {"dy", "T"}},
          .outputs = {{"z", "T"}},
          .attrs = {{"T", kRealTypes}},
          .shape = equal_shapes,
          .block = block,
          .equal_inputs = true,
          .gradient = gradient,
          .samples = samples};
}

constexpr OpDef predicate(std::string_view name, std::string_view doc, BlockChoice block) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "T"}},
          .outputs = {{"y", "bool"}},
          .attrs = {{"T", kRealTypes}},
          .shape = same_shape,
          .block = block,
          .no_gradient = true,
          .samples = {"float[2,3]"}};
}

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

// The gradient is one op of (y, dy).
Values by_value(GradContext& g, std::string_view op) { return {g.op(op, {g.y(0), g.dy(0)})}; }
// The same, after the gradient that came: TensorFlow keeps such nodes from running early.
Values by_value_after(GradContext& g, std::string_view op) {
  ScopeGuard after = after_grad(g);
  return by_value(g, op);
}

// d/dy and d/d(dy) of dy * f'(y), where f' is quadratic in y: dy' * -2 dy y, f'(y) dy'.
Values minus_two(GradContext& g, std::string_view op) {
  ScopeGuard after = after_grad(g);
  Graph& graph = g.graph();
  Output scaled = mul(graph, g.dy(0), number(g.dy(0).dtype(), -2));
  Output gy = mul(graph, mul(graph, scaled, g.x(1)), g.x(0));
  return {gy, g.op(op, {g.x(0), g.dy(0)})};
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

constexpr OpDef kNeg = unary("Neg", "-x.", kSignedTypes, neg_block,
                             [](GradContext& g) -> Values { return {neg(g.graph(), g.dy(0))}; });
constexpr OpDef kAbs =
    unary("Abs", "The absolute value of x.", kSignedTypes, abs_block, abs_gradient);
constexpr OpDef kSign =
    unary("Sign", "-1, 0 or 1: the sign of x.", kSignedTypes, sign_block,
          [](GradContext& g) -> Values { return {zeros_like(g.graph(), g.x(0))}; })
        .in_python("sign math.sign");
constexpr OpDef kSquare = unary("Square", "x * x.", kNumberTypes, square_block, square_gradient)
                              .in_python("square math.square");
constexpr OpDef kSqrt =
    unary("Sqrt", "The square root of x.", kRealTypes, sqrt_block,
          [](GradContext& g) { return by_value(g, "SqrtGrad"); }, {"float[2,3](0.5,2)"})
        .in_python("sqrt math.sqrt");
constexpr OpDef kRsqrt =
    unary("Rsqrt", "1 / sqrt(x).", kRealTypes, rsqrt_block,
          [](GradContext& g) { return by_value(g, "RsqrtGrad"); }, {"float[2,3](0.5,2)"})
        .in_python("rsqrt math.rsqrt");
constexpr OpDef kReciprocal =
    unary("Reciprocal", "1 / x.", kSignedTypes, reciprocal_block,
          [](GradContext& g) { return by_value(g, "ReciprocalGrad"); }, {"float[2,3](0.5,2)"})
        .in_python("reciprocal math.reciprocal");
constexpr OpDef kInv =
    unary("Inv", "1 / x.", kSignedTypes, reciprocal_block,
          [](GradContext& g) { return by_value(g, "ReciprocalGrad"); }, {"float[2,3](0.5,2)"})
        .in_python("inv");
constexpr OpDef kExp = unary("Exp", "e to the power x.", kRealTypes, exp_block, exp_gradient)
                           .in_python("exp math.exp");
constexpr OpDef kExpm1 =
    unary("Expm1", "exp(x) - 1, exact near zero.", kRealTypes, expm1_block, expm1_gradient)
        .in_python("expm1 math.expm1");
constexpr OpDef kLog = unary("Log", "The natural logarithm of x.", kRealTypes, log_block,
                             log_gradient, {"float[2,3](0.5,2)"})
                           .in_python("log math.log");
constexpr OpDef kLog1p = unary("Log1p", "log(1 + x), exact near zero.", kRealTypes, log1p_block,
                               log1p_gradient, {"float[2,3](-0.5,2)"})
                             .in_python("log1p math.log1p");
constexpr OpDef kFloor =
    unary("Floor", "The largest whole number not above x.", kRealTypes, floor_block, nothing)
        .in_python("floor math.floor");
constexpr OpDef kCeil =
    unary("Ceil", "The smallest whole number not below x.", kRealTypes, ceil_block, nothing)
        .in_python("ceil math.ceil");
constexpr OpDef kRound = unary("Round", "The nearest whole number; halves go to the even one.",
                               kSignedTypes, rint_block, nothing);
constexpr OpDef kRint = unary("Rint", "The nearest whole number; halves go to the even one.",
                              kRealTypes, rint_block, nothing)
                            .in_python("rint math.rint");
constexpr OpDef kSin =
    unary("Sin", "The sine of x.", kRealTypes, sin_block, sin_gradient).in_python("sin math.sin");
constexpr OpDef kCos =
    unary("Cos", "The cosine of x.", kRealTypes, cos_block, cos_gradient).in_python("cos math.cos");
constexpr OpDef kSigmoid = unary("Sigmoid", "1 / (1 + exp(-x)).", kRealTypes, sigmoid_block,
                                 [](GradContext& g) { return by_value_after(g, "SigmoidGrad"); });
constexpr OpDef kTanh =
    unary("Tanh", "The hyperbolic tangent of x.", kRealTypes, tanh_block, [](GradContext& g) {
      return by_value_after(g, "TanhGrad");
    }).in_python("tanh nn.tanh math.tanh");

constexpr OpDef kSigmoidGrad =
    unary_grad("SigmoidGrad", "dy * y * (1 - y).", sigmoid_grad_block, sigmoid_grad_gradient);
constexpr OpDef kTanhGrad = unary_grad("TanhGrad", "dy * (1 - y * y).", tanh_grad_block,
                                       [](GradContext& g) { return minus_two(g, "TanhGrad"); });
constexpr OpDef kSqrtGrad = unary_grad("SqrtGrad", "dy * 0.5 / y.", sqrt_grad_block,
                                       sqrt_grad_gradient, {"float[2,3](0.5,2) float[2,3]"});
constexpr OpDef kRsqrtGrad =
    unary_grad("RsqrtGrad", "dy * -0.5 * y^3.", rsqrt_grad_block, rsqrt_grad_gradient);
constexpr OpDef kReciprocalGrad =
    unary_grad("ReciprocalGrad", "-dy * y * y.", reciprocal_grad_block,
               [](GradContext& g) { return minus_two(g, "ReciprocalGrad"); });

constexpr OpDef kIsNan =
    predicate("IsNan", "Whether x is not a number.", is_nan_block).in_python("is_nan math.is_nan");
constexpr OpDef kIsInf =
    predicate("IsInf", "Whether x is an infinity.", is_inf_block).in_python("is_inf math.is_inf");
constexpr OpDef kIsFinite = predicate("IsFinite", "Whether x is a finite number.", is_finite_block)
                                .in_python("is_finite math.is_finite");

constexpr const OpDef* kRows[] = {
    &kNeg,      &kAbs,     &kSign,        &kSquare,   &kSqrt,     &kRsqrt,     &kReciprocal,
    &kInv,      &kExp,     &kExpm1,       &kLog,      &kLog1p,    &kFloor,     &kCeil,
    &kRound,    &kRint,    &kSin,         &kCos,      &kTanh,     &kIsNan,     &kIsInf,
    &kIsFinite, &kSigmoid, &kSigmoidGrad, &kTanhGrad, &kSqrtGrad, &kRsqrtGrad, &kReciprocalGrad};

}  // namespace

OpFamily math_ops() { return kRows; }

}  // namespace capstan
