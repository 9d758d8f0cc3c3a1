#pragma once

// Small builders for gradient functions. Each adds the nodes that TensorFlow's Python function of
// that name adds, under the names it gives them: literals become Const nodes inside the op's own
// scope, and shapes that are known become constants.

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/gradients.h"
#include "graph/graph.h"

namespace capstan {

// A value of the graph, or a literal that becomes a Const named after the argument.
struct Arg {
  Arg(Output value) : value(value) {}                   // NOLINT(google-explicit-constructor)
  Arg(Tensor literal) : literal(std::move(literal)) {}  // NOLINT(google-explicit-constructor)
  Output value;
  Tensor literal;
};

// Literals: a scalar of any number type, a vector of int32.
Tensor number(DType dtype, double value);
Tensor ints(std::span<const int64_t> values, DType dtype = DType::kInt32);
inline Tensor ints(std::initializer_list<int64_t> values) {
  return ints(std::span(values.begin(), values.size()));
}
inline Tensor ints(const Shape& shape, DType dtype = DType::kInt32) {
  return ints(shape.dims(), dtype);
}

// One op with one output; `name` defaults to the op's.
Output node(Graph& g, std::string_view op, std::initializer_list<Arg> args, AttrMap attrs = {},
            std::string_view name = {});
// An op whose first argument is a list; the list's literals are called "<arg>_<i>".
Output list_node(Graph& g, std::string_view op, std::span<const Arg> list,
                 std::initializer_list<Arg> rest, AttrMap attrs, std::string_view name);

// Python's operators: x * y and so on.
Output mul(Graph& g, Arg x, Arg y);
Output add(Graph& g, Arg x, Arg y);
Output sub(Graph& g, Arg x, Arg y);
Output truediv(Graph& g, Arg x, Arg y);
Output mod(Graph& g, Arg x, Arg y);
inline Output neg(Graph& g, Output x) { return node(g, "Neg", {x}); }

// array_ops and math_ops.
Output shape_of(Graph& g, Output x, DType out_type = DType::kInt32);
Output size_of(Graph& g, Output x);
Output rank_of(Graph& g, Output x);
Output zeros_like(Graph& g, Output x);
Output ones_like(Graph& g, Output x);
Output reshape(Graph& g, Output x, Arg shape);
Output cast(Graph& g, Output x, DType to);  // x itself where it has the type
Output reduce_sum(Graph& g, Output x, Arg axes, bool keep_dims = false);
Output reduce_sum(Graph& g, Output x);   // over everything
Output reduce_prod(Graph& g, Output x);  // over everything
Output gather(Graph& g, Output params, Arg indices);
Output concat(Graph& g, std::span<const Arg> values, Arg axis);
Output stack(Graph& g, std::initializer_list<Arg> values);
Output range(Graph& g, Output limit, int64_t delta = 1);
Output expand_dims(Graph& g, Output x, int64_t dim);
Output broadcast_to(Graph& g, Output x, Output shape);
// x[begin:end] of a vector; a missing bound is open.
Output slice_vector(Graph& g, Output x, std::optional<int64_t> begin, std::optional<int64_t> end);

// The shape of `shape` after reducing `axes` with kept dimensions: a literal where all is known.
Arg reduced_shape(Graph& g, Output shape, Output axes);
// Dimensions of `shape` after reducing these axes, kept as ones; axes may be negative.
Shape kept_shape(const Shape& shape, std::span<const int64_t> axes);
std::vector<int64_t> as_ints(const Tensor& t);

// Sums gx and gy (either may be missing) down to the shapes of x and y, which were broadcast.
std::pair<Output, Output> reduce_to_inputs(Graph& g, Output x, Output y, Output gx, Output gy);
// All three shapes are known and the same.
bool same_known_shapes(Output x, Output y, Output dy);

// Whether the gradient that arrived is the zeros that gradients() puts where nothing arrived.
bool is_zeros(Output dy);
// New nodes run after the gradient that arrived.
inline ScopeGuard after_grad(GradContext& g) {
  return g.graph().control_dependencies({g.dy(0).node});
}

}  // namespace capstan
