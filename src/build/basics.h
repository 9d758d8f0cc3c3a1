#pragma once

// Small composites that others are made of. Each adds the nodes that TensorFlow adds, under its
// names.

#include <span>
#include <string_view>
#include <vector>

#include "graph/gating.h"
#include "graph/graph.h"

namespace capstan {

// tf.zeros: a constant below 1,000 elements, else a Fill.
Output zeros(Graph& graph, const Shape& shape, DType dtype, std::string_view name = "zeros");
// A constant scalar of the given type.
Tensor scalar_of(DType dtype, double value);
// `value` repeated over a shape.
Tensor filled(DType dtype, const Shape& shape, double value);
// tf.fill with a constant shape: Const "<name>/dims", then the Fill.
Output fill(Graph& graph, const Shape& dims, Output value, std::string_view name = "Fill");
// One IsVariableInitialized per reference, and the names of those that are not, as a string vector.
Output report_uninitialized(Graph& graph, std::span<const Output> references,
                            std::string_view name = "report_uninitialized_variables");

}  // namespace capstan
