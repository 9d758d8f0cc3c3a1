// Functions of one real number that programs seldom use: plain loops over libm.

#include <cmath>
#include <numbers>

#include "graph/shape_context.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/plain_block.h"
#include "ops/types.h"

namespace capstan {
namespace {

struct TanFormula {
  static auto of(auto x) { return std::tan(x); }
};
struct AsinFormula {
  static auto of(auto x) { return std::asin(x); }
};
struct AcosFormula {
  static auto of(auto x) { return std::acos(x); }
};
struct AtanFormula {
  static auto of(auto x) { return std::atan(x); }
};
struct SinhFormula {
  static auto of(auto x) { return std::sinh(x); }
};
struct CoshFormula {
  static auto of(auto x) { return std::cosh(x); }
};
struct ErfFormula {
  static auto of(auto x) { return std::erf(x); }
};

Values tan_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output secant = g.op("Reciprocal", {g.op("Cos", {g.x(0)})});
  return {mul(g.graph(), g.op("Square", {secant}), g.dy(0))};
}

// 1 / sqrt(1 - x^2).
Output inverse_root(GradContext& g) {
  Output square = g.op("Square", {g.x(0)});
  Output one = g.constant(number(g.dy(0).dtype(), 1));
  Output root = g.op("Sqrt", {g.op("Sub", {one, square})});
  return g.op("Reciprocal", {root});
}

Values asin_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  return {mul(g.graph(), g.dy(0), inverse_root(g))};
}

Values acos_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output inverse = inverse_root(g);
  return {mul(g.graph(), neg(g.graph(), g.dy(0)), inverse)};
}

Values atan_gradient(GradContext& g) {
  ScopeGuard after = after_grad(g);
  Output square = g.op("Square", {g.x(0)});
  Output one = g.constant(number(g.dy(0).dtype(), 1));
  Output sum = g.op("AddV2", {one, square}, {}, "Add");
  return {mul(g.graph(), g.dy(0), g.op("Reciprocal", {sum}))};
}

Values times(GradContext& g, std::string_view op) {
  ScopeGuard after = after_grad(g);
  Output derivative = g.op(op, {g.x(0)});
  return {mul(g.graph(), g.dy(0), derivative)};
}

Values erf_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output scale = g.constant(number(g.dy(0).dtype(), 2 * std::numbers::inv_sqrtpi));
  ScopeGuard after = after_grad(g);
  Output scaled = mul(graph, g.dy(0), scale);
  Output square = g.op("Square", {g.x(0)});
  return {mul(graph, scaled, g.op("Exp", {neg(graph, square)}))};
}

constexpr OpDef real_function(std::string_view name, std::string_view doc,
                              BlockFn (*block)(DType, Isa), Values (*gradient)(GradContext&)) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "T"}},
          .outputs = {{"y", "T"}},
          .attrs = {{"T", kRealTypes}},
          .shape = same_shape,
          .block = block,
          .gradient = gradient,
          .samples = {"float[2,3](-0.9,0.9)"}};
}

constexpr OpDef kTan =
    real_function("Tan", "The tangent of x.", plain_unary_block<TanFormula>, tan_gradient)
        .in_python("tan math.tan");
constexpr OpDef kAsin = real_function("Asin", "The angle whose sine is x.",
                                      plain_unary_block<AsinFormula>, asin_gradient)
                            .in_python("asin math.asin");
constexpr OpDef kAcos = real_function("Acos", "The angle whose cosine is x.",
                                      plain_unary_block<AcosFormula>, acos_gradient)
                            .in_python("acos math.acos");
constexpr OpDef kAtan = real_function("Atan", "The angle whose tangent is x.",
                                      plain_unary_block<AtanFormula>, atan_gradient)
                            .in_python("atan math.atan");
constexpr OpDef kSinh =
    real_function("Sinh", "The hyperbolic sine of x.", plain_unary_block<SinhFormula>,
                  [](GradContext& g) { return times(g, "Cosh"); })
        .in_python("sinh math.sinh");
constexpr OpDef kCosh =
    real_function("Cosh", "The hyperbolic cosine of x.", plain_unary_block<CoshFormula>,
                  [](GradContext& g) { return times(g, "Sinh"); })
        .in_python("cosh math.cosh");
constexpr OpDef kErf =
    real_function("Erf", "The error function of x.", plain_unary_block<ErfFormula>, erf_gradient)
        .in_python("erf math.erf");

constexpr const OpDef* kRows[] = {&kTan, &kAsin, &kAcos, &kAtan, &kSinh, &kCosh, &kErf};

}  // namespace

OpFamily special_ops() { return kRows; }

}  // namespace capstan
