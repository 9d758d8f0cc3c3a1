#include "graph/shape_context.h"

#include "graph/signature.h"

namespace capstan {
namespace {

std::string_view arg_name(const Node& node, int i) { return input_arg(node, i).name; }

Error wrong_rank(const Node& node, int i, int rank, const Shape& shape) {
  const std::string_view also = rank == 0 ? ", a scalar" : rank == 1 ? ", a vector" : "";
  return invalid_argument("input {} ('{}') must have rank {}{}, but its shape is {}", i,
                          arg_name(node, i), rank, also, shape);
}

template <class T>
Shape shape_of_elements(const Tensor& vector) {
  Shape shape;
  for (int64_t i = 0; i < vector.size(); ++i) {
    int64_t dim = vector.data<T>()[i];
    if (dim < -1) throw invalid_argument("a shape cannot have the dimension {}", dim);
    shape.push_back(dim);
  }
  return shape;
}

}  // namespace

std::optional<Shape> as_shape(const Tensor& value) {
  if (value.dtype() != DType::kInt32 && value.dtype() != DType::kInt64) return std::nullopt;
  bool wide = value.dtype() == DType::kInt64;
  if (value.shape().rank() == 0) {
    int64_t number = wide ? *value.data<int64_t>() : *value.data<int32_t>();
    return number == -1 ? std::optional(Shape::unknown()) : std::nullopt;
  }
  if (value.shape().rank() != 1) return std::nullopt;
  return wide ? shape_of_elements<int64_t>(value) : shape_of_elements<int32_t>(value);
}

ShapeContext::ShapeContext(const Node& node, std::vector<Shape> inputs,
                           std::function<const Tensor*(int)> constant)
    : node_(node),
      inputs_(std::move(inputs)),
      outputs_(size_t(node.outputs()), Shape::unknown()),
      constant_(std::move(constant)) {}

std::optional<Shape> ShapeContext::in_as_shape(int i) const {
  if (const Tensor* value = constant(i)) {
    std::optional<Shape> shape = as_shape(*value);
    if (shape) return shape;
    throw invalid_argument(
        "input {} ('{}') must be a vector of whole numbers to serve as a shape, not {} {}", i,
        arg_name(node_, i), dtype_name(value->dtype()), value->shape());
  }
  Shape partial = partial_shape(node_.input(i));
  if (!partial.known_rank()) return std::nullopt;
  return partial;
}

Shape ShapeContext::in_with_rank_from(int i, int rows) const {
  const Shape& per_dim = in(rows);
  if (in(i).known_rank() || !per_dim.known_rank() || per_dim.rank() == 0) return in(i);
  bool fits = per_dim[0] >= 0 && per_dim[0] <= Shape::kMaxRank;
  return fits ? Shape::unknown_of_rank(int(per_dim[0])) : in(i);
}

Shape ShapeContext::with_rank(int i, int rank) const {
  if (in(i).known_rank() && in(i).rank() != rank) throw wrong_rank(node_, i, rank, in(i));
  return in(i).merged_with(Shape::unknown_of_rank(rank));
}

Shape ShapeContext::with_rank_of_at_least(int i, int rank) const {
  if (!in(i).known_rank() || in(i).rank() >= rank) return in(i);
  throw invalid_argument("input {} ('{}') must have rank {} or more, but its shape is {}", i,
                         arg_name(node_, i), rank, in(i));
}

void check_input_rank(const Node& node, int i, const Shape& shape) {
  const int rank = node.input_rank(i);
  if (rank == ArgDef::kAnyRank || !shape.known_rank() || shape.rank() == rank) return;
  throw wrong_rank(node, i, rank, shape);
}

void infer_shapes(ShapeContext& context) {
  for (int i = 0; i < context.inputs(); ++i) check_input_rank(context.node(), i, context.in(i));
  if (context.node().def().shape) context.node().def().shape(context);
}

void scalar_shape(ShapeContext& c) {
  for (int i = 0; i < c.node().outputs(); ++i) c.out(i, Shape{});
}

void unknown_shape(ShapeContext& c) {
  for (int i = 0; i < c.node().outputs(); ++i) c.out(i, Shape::unknown());
}

void same_shape(ShapeContext& c) { c.out(0, c.in(0)); }

void broadcast_shape(ShapeContext& c) {
  Shape shape = c.in(0);
  for (int i = 1; i < c.inputs(); ++i) shape = broadcast(shape, c.in(i));
  c.out(0, shape);
}

void equal_shapes(ShapeContext& c) {
  Shape shape = c.in(0);
  for (int i = 1; i < c.inputs(); ++i) shape = shape.merged_with(c.in(i));
  c.out(0, shape);
}

void no_outputs(ShapeContext&) {}

void ref_same_shape(ShapeContext& c) {
  int last = c.inputs() - 1;
  if (!c.in(0).compatible_with(c.in(last))) {
    throw invalid_argument("the variable has shape {}, but '{}' has {}", c.in(0),
                           arg_name(c.node(), last), c.in(last));
  }
  c.out(0, c.in(0).merged_with(c.in(last)));
}

}  // namespace capstan
