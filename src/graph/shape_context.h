#pragma once

// What a row's shape function sees: input shapes, constant inputs, attrs. Used when a node is added
// (shapes partly known) and again when memory is laid out (shapes known).

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "graph/node.h"

namespace capstan {

class ShapeContext {
 public:
  // constant(i): the value of input i when it is known, else null. The functions outlive the
  // context.
  ShapeContext(const Node& node, std::vector<Shape> inputs,
               std::function<const Tensor*(int)> constant);

  const Node& node() const { return node_; }
  int inputs() const { return int(inputs_.size()); }
  const Shape& in(int i) const { return inputs_[size_t(i)]; }
  // Input i as a shape vector when its value is known (elements -1 stay unknown).
  std::optional<Shape> in_as_shape(int i) const;
  const Tensor* constant(int i) const { return constant_(i); }
  template <class T>
  const T& attr(std::string_view name) const {
    return node_.attrs().get<T>(name);
  }

  // Input i; where its rank is unknown, with one unknown dimension per row of input `rows`, which
  // says something of each dimension (paddings, a permutation).
  Shape in_with_rank_from(int i, int rows) const;

  // Throws InvalidArgument naming the input unless it can have this rank; returns the merged shape.
  Shape with_rank(int i, int rank) const;
  Shape with_rank_of_at_least(int i, int rank) const;

  void out(int i, Shape shape) { outputs_[size_t(i)] = std::move(shape); }
  const std::vector<Shape>& outputs() const { return outputs_; }

 private:
  const Node& node_;
  std::vector<Shape> inputs_, outputs_;
  std::function<const Tensor*(int)> constant_;
};

// Fills in the outputs: what the row says of the ranks of its inputs, then its shape function.
void infer_shapes(ShapeContext& context);
// Throws InvalidArgument naming the input when this shape has not the rank that the row asks for.
void check_input_rank(const Node& node, int i, const Shape& shape);

// The value of an output when it follows from constants alone, through rows that are `foretold`:
// Const, Shape of a defined shape, Pack, Cast and the like. Found by the rows' own kernels.
std::optional<Tensor> constant_value(Output value);
// The same for shape functions, which see through every row without state: through more than
// TensorFlow's Python does when it chooses which nodes to make.
std::optional<Tensor> constant_for_shape(Output value);
// The value of a vector read as a shape, with the elements that are known.
Shape partial_shape(Output value);
// A vector of whole numbers as a shape (-1 for unknown), a scalar -1 as the unknown shape; nothing
// for other tensors. Throws InvalidArgument for dimensions below -1.
std::optional<Shape> as_shape(const Tensor& value);

// Shape functions that many rows share.
void scalar_shape(ShapeContext& c);  // every output is a scalar
void unknown_shape(ShapeContext& c);
void same_shape(ShapeContext& c);       // output 0 as input 0
void broadcast_shape(ShapeContext& c);  // output 0: all inputs broadcast together
void equal_shapes(ShapeContext& c);     // output 0: the one shape that all inputs have
void no_outputs(ShapeContext& c);
void ref_same_shape(ShapeContext& c);  // output 0 as input 0, inputs 0 and last compatible

}  // namespace capstan
