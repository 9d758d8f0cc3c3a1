// Binary arithmetic with broadcasting, and AddN.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/blocks.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/plain_block.h"
#include "ops/types.h"
#include "ops/window.h"

namespace capstan {
namespace {

using BlockChoice = BlockFn (*)(DType, Isa);
using Gradient = Values (*)(GradContext&);

constexpr OpDef binary(std::string_view name, std::string_view doc, std::string_view types,
                       BlockChoice block, Gradient gradient,
                       RowList<std::string_view, 4> samples = {"float[2,3] float[3]"}) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"x", "T"}, {"y", "T"}},
          .outputs = {{"z", "T"}},
          .attrs = {{"T", types}},
          .shape = broadcast_shape,
          .block = block,
          .gradient = gradient,
          .samples = samples};
}

Values pair(std::pair<Output, Output> grads) { return {grads.first, grads.second}; }

Values none(GradContext&) { return {{}, {}}; }

Values add_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  if (same_known_shapes(x, y, dy)) return {dy, dy};
  return pair(reduce_to_inputs(g.graph(), x, y, dy, dy));
}

Values sub_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  Output minus = neg(g.graph(), dy);
  if (same_known_shapes(x, y, dy)) return {dy, minus};
  return pair(reduce_to_inputs(g.graph(), x, y, dy, minus));
}

Values mul_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  bool plain = dy.dtype() == DType::kFloat || dy.dtype() == DType::kInt32;
  if (plain && same_known_shapes(x, y, dy)) {
    Output gx = g.op("Mul", {dy, y});
    return {gx, g.op("Mul", {dy, x})};
  }
  Output gx = g.op("Mul", {dy, y});
  Output gy = g.op("Mul", {x, dy});
  return pair(reduce_to_inputs(g.graph(), x, y, gx, gy));
}

Values divided(GradContext& g, std::string_view name) {
  Output x = g.x(0), y = g.x(1);
  auto divide = [&](Output a, Output b) { return g.op("RealDiv", {a, b}, {}, name); };
  Output gx = divide(g.dy(0), y);
  Output quotient = divide(neg(g.graph(), x), y);
  Output gy = mul(g.graph(), g.dy(0), divide(quotient, y));
  return pair(reduce_to_inputs(g.graph(), x, y, gx, gy));
}

Values div_gradient(GradContext& g) { return divided(g, "truediv"); }
Values real_div_gradient(GradContext& g) { return divided(g, "RealDiv"); }

Values floor_mod_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1);
  Output whole = g.op("FloorDiv", {x, y});
  Output gy = mul(g.graph(), g.dy(0), neg(g.graph(), whole));
  return pair(reduce_to_inputs(g.graph(), x, y, g.dy(0), gy));
}

Values pow_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  Output scaled = mul(graph, dy, y);
  Output less = sub(graph, y, number(y.dtype(), 1));
  Output gx = mul(graph, scaled, g.op("Pow", {x, less}));
  // There is no sensible logarithm of x <= 0: the gradient is zero there.
  Output mask = node(graph, "Greater", {x, number(x.dtype(), 0)});
  Output safe_x = g.op("Select", {mask, x, ones_like(graph, x)});
  Output log_x = g.op("Log", {safe_x});
  log_x = g.op("Select", {mask, log_x, zeros_like(graph, x)});
  Output gy = mul(graph, mul(graph, dy, g.y(0)), log_x);
  return pair(reduce_to_inputs(graph, x, y, gx, gy));
}

Values chosen(GradContext& g, std::string_view comparison) {
  Output x = g.x(0), y = g.x(1), dy = g.dy(0);
  Output zeros = zeros_like(g.graph(), dy);
  Output mask = g.op(comparison, {x, y});
  Output gx = g.op("SelectV2", {mask, dy, zeros});
  Output gy = g.op("SelectV2", {mask, zeros, dy});
  return pair(reduce_to_inputs(g.graph(), x, y, gx, gy));
}

Values maximum_gradient(GradContext& g) { return chosen(g, "GreaterEqual"); }
Values minimum_gradient(GradContext& g) { return chosen(g, "LessEqual"); }

Values squared_difference_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output x = g.x(0), y = g.x(1), dy = g.dy(0), gx;
  {
    ScopeGuard after = after_grad(g);
    Output twice = g.op("Mul", {g.constant(number(dy.dtype(), 2), "scalar"), dy});
    gx = mul(graph, twice, sub(graph, x, y));
  }
  Output gy = neg(graph, gx);
  if (same_known_shapes(x, y, dy)) return {gx, gy};
  return pair(reduce_to_inputs(graph, x, y, gx, gy));
}

constexpr OpDef kAdd =
    binary("Add", "x + y, element by element.", kNumberTypes, add_block, add_gradient);
constexpr OpDef kAddV2 =
    binary("AddV2", "x + y, element by element.", kNumberTypes, add_block, add_gradient);
constexpr OpDef kSub =
    binary("Sub", "x - y, element by element.", kNumberTypes, sub_block, sub_gradient);
constexpr OpDef kMul =
    binary("Mul", "x * y, element by element.", kNumberTypes, mul_block, mul_gradient);
constexpr OpDef kDiv = binary("Div", "x / y; whole numbers are cut towards zero.", kNumberTypes,
                              div_block, div_gradient, {"float[2,3] float[3](0.5,2)"});
constexpr OpDef kRealDiv = binary("RealDiv", "x / y of real numbers.", kNumberTypes, div_block,
                                  real_div_gradient, {"float[2,3] float[3](0.5,2)"})
                               .in_python("realdiv");
constexpr OpDef kTruncateDiv =
    binary("TruncateDiv", "x / y, cut towards zero.", kNumberTypes, truncate_div_block, none,
           {"int32[2,3]{7,-7,8,-8,9,1} int32[]{3}"})
        .in_python("truncatediv");
constexpr OpDef kFloorDiv =
    binary("FloorDiv", "x / y, rounded down.", kNumberTypes, floor_div_block, none,
           {"float[2,3] float[3](0.5,2)", "int32[4]{7,-7,8,-8} int32[]{3}"})
        .in_python("floor_div");
constexpr OpDef kFloorMod = binary(
    "FloorMod", "What FloorDiv leaves; it has the sign of y.", kNumberTypes, floor_mod_block,
    floor_mod_gradient, {"float[2,3](2.1,2.4) float[3](0.8,0.9)", "int32[3]{7,-7,8} int32[]{3}"});
constexpr OpDef kMod = binary("Mod", "What cutting division leaves; it has the sign of x.",
                              "type:int32|int64|float|double", truncate_mod_block, nullptr,
                              {"int32[3]{7,-7,8} int32[]{3}"});
// Zero where the divisor is.
struct DivNoNanFormula {
  template <class T>
  static T of(T x, T y) {
    return y == T(0) ? T(0) : x / y;
  }
};

Values div_no_nan_gradient(GradContext& g) {
  Output x = g.x(0), y = g.x(1);
  auto divide = [&](Output a, Output b) { return g.op("DivNoNan", {a, b}, {}, "div_no_nan"); };
  Output gx = divide(g.dy(0), y);
  Output quotient = divide(neg(g.graph(), x), y);
  Output gy = mul(g.graph(), g.dy(0), divide(quotient, y));
  return pair(reduce_to_inputs(g.graph(), x, y, gx, gy));
}

constexpr OpDef kDivNoNan =
    binary("DivNoNan", "x / y, or 0 where y is 0.", kRealTypes, plain_binary_block<DivNoNanFormula>,
           div_no_nan_gradient, {"float[2,3] float[3](0.5,2)"})
        .in_python("div_no_nan");
constexpr OpDef kMaximum = binary("Maximum", "The larger of x and y, element by element.",
                                  kNumberTypes, maximum_block, maximum_gradient)
                               .in_python("maximum math.maximum");
constexpr OpDef kMinimum = binary("Minimum", "The smaller of x and y, element by element.",
                                  kNumberTypes, minimum_block, minimum_gradient)
                               .in_python("minimum math.minimum");
constexpr OpDef kPow = binary("Pow", "x to the power y, element by element.", kSignedTypes,
                              pow_block, pow_gradient, {"float[2,3](0.5,2) float[3]"});
constexpr OpDef kSquaredDifference =
    binary("SquaredDifference", "(x - y) squared, element by element.",
           "type:float|double|int32|int64", squared_difference_block, squared_difference_gradient)
        .in_python("squared_difference math.squared_difference");

// Adds two at a time, tile by tile, so that the sum stays in the cache.
void add_all(KernelContext& c) {
  const Tensor& first = c.in(0);
  for (int i = 1; i < c.inputs(); ++i) {
    if (c.in(i).shape() != first.shape()) {
      throw invalid_argument(
          "AddN adds tensors of one shape, but input 0 has {} and input {} has {}", first.shape(),
          i, c.in(i).shape());
    }
  }
  Tensor& sum = c.out(0, first.shape());
  if (c.inputs() == 1) return copy_elements(sum.dtype(), sum.raw(), first.raw(), first.size());
  BlockFn add = add_block(first.dtype(), c.isa());
  constexpr int64_t kTile = 32768;
  size_t element = dtype_size(first.dtype());
  c.pool().parallel_for((first.size() + kTile - 1) / kTile, [&](int64_t tile) {
    size_t at = size_t(tile * kTile) * element;
    int64_t n = std::min(kTile, first.size() - tile * kTile);
    char* out = static_cast<char*>(sum.raw()) + at;
    const void* in[] = {static_cast<const char*>(first.raw()) + at, nullptr};
    for (int i = 1; i < c.inputs(); ++i, in[0] = out) {
      in[1] = static_cast<const char*>(c.in(i).raw()) + at;
      add(in, out, n);
    }
  });
}

std::shared_ptr<void> prepare_add_n(const Node& node) {
  if (!add_block(node.output_type(0), Isa::kBase)) no_kernel(node, node.output_type(0));
  return nullptr;
}

constexpr OpDef kAddN = {
    .name = "AddN",
    .doc = "The sum of N tensors of one shape.",
    .inputs = {{"inputs", "N*T"}},
    .outputs = {{"sum", "T"}},
    .attrs = {{"N", "int>=1"}, {"T", kNumberTypes}},
    .shape = equal_shapes,
    .kernel = add_all,
    .prepare = prepare_add_n,
    .gradient = [](GradContext& g) { return Values(g.node().inputs().size(), g.dy(0)); },
    .samples = {"float[2,3] float[2,3] float[2,3]"},
};

constexpr const OpDef* kRows[] = {
    &kAdd,         &kAddV2,    &kSub,      &kMul,      &kDiv,
    &kRealDiv,     &kDivNoNan, &kFloorDiv, &kFloorMod, &kMod,
    &kTruncateDiv, &kMaximum,  &kMinimum,  &kPow,      &kSquaredDifference,
    &kAddN};

}  // namespace

OpFamily arithmetic_ops() { return kRows; }

}  // namespace capstan
