#pragma once

// How rows of one operand are written, and those of a function's value and the gradient that came.

#include "graph/gradients.h"
#include "graph/shape_context.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

namespace capstan {

constexpr OpDef unary(std::string_view name, std::string_view doc, std::string_view types,
                      BlockFn (*block)(DType, Isa), Values (*gradient)(GradContext&),
                      RowList<std::string_view, 4> samples = {"float[2,3]"}) {
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
constexpr OpDef unary_grad(std::string_view name, std::string_view doc,
                           BlockFn (*block)(DType, Isa), Values (*gradient)(GradContext&),
                           RowList<std::string_view, 4> samples = {"float[2,3] float[2,3]"}) {
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

// The gradient is one op of (y, dy).
inline Values by_value(GradContext& g, std::string_view op) {
  return {g.op(op, {g.y(0), g.dy(0)})};
}

// d/dy and d/d(dy) of dy * f'(y), where f' is quadratic in y: dy' * -2 dy y, f'(y) dy'.
inline Values minus_two(GradContext& g, std::string_view op) {
  ScopeGuard after = after_grad(g);
  Graph& graph = g.graph();
  Output scaled = mul(graph, g.dy(0), number(g.dy(0).dtype(), -2));
  Output gy = mul(graph, mul(graph, scaled, g.x(1)), g.x(0));
  return {gy, g.op(op, {g.x(0), g.dy(0)})};
}

}  // namespace capstan
