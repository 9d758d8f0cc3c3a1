#pragma once

// What composites are made of: scopes, constants, shapes, fills and reductions. Each adds the nodes
// that TensorFlow adds, under its names. A name that ends in "/" is taken as it is.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/gating.h"
#include "graph/graph.h"

namespace capstan {

// An argument that is a number or a tensor of the graph.
using Hyper = std::variant<double, Output>;

// The nodes of one function, below its name. The last of them often takes that name itself.
struct Composite {
  Composite(Graph& graph, std::string_view name)
      : scope(graph.name_scope(name)), self(graph.current_scope() + "/") {}
  ScopeGuard scope;
  const std::string self;
};

// --- Constants -----------------------------------------------------------------------------------

// `value` repeated over a shape.
Tensor filled(DType dtype, const Shape& shape, double value);
Tensor scalar_of(DType dtype, double value);
Tensor int_vector(std::span<const int64_t> values);
Tensor int_vector(std::initializer_list<int64_t> values);

// A tensor as it is; a number as a constant of the type.
Output as_tensor(Graph& graph, const Hyper& value, DType dtype, std::string_view name = "Const");
// The tensor itself where it has the type already.
Output cast_to(Output x, DType dtype, std::string_view name = "Cast");
// `op` of two operands of one type. A number becomes a constant "<node>/x" or "<node>/y".
Output binary(std::string_view op, Output x, Output y, std::string_view name = {});
Output binary(std::string_view op, Output x, const Hyper& y, std::string_view name = {});
Output binary(std::string_view op, const Hyper& x, Output y, std::string_view name = {});

// --- Shapes --------------------------------------------------------------------------------------

// Constants where they are known, else the nodes that find them out.
Output shape_of(Output x, std::string_view name = "Shape", DType dtype = DType::kInt32);
Output rank_of(Output x, std::string_view name = "Rank");
Output size_of(Output x, std::string_view name = "Size", DType dtype = DType::kInt32);

// The whole numbers from start up to limit.
Output range_between(Graph& graph, const Hyper& start, const Hyper& limit,
                     std::string_view name = "range");
// Items begin to end of a vector, as Python's slicing writes it; none: from its start, to its end.
Output slice_of(Output vector, std::optional<int64_t> begin, std::optional<int64_t> end);
// The item of a vector at a position.
Output item_of(Output vector, int64_t position);
Output item_of(Output vector, Output position);

// --- Fills ---------------------------------------------------------------------------------------

// `value` everywhere: a constant below 1,000 elements, else a Fill.
Output filled_with(Graph& graph, const Shape& shape, DType dtype, double value,
                   std::string_view name);
Output filled_with(Output shape, DType dtype, double value, std::string_view name);
Output zeros(Graph& graph, const Shape& shape, DType dtype, std::string_view name = "zeros");
Output ones(Graph& graph, const Shape& shape, DType dtype, std::string_view name = "ones");
// kInvalid: the tensor's own type.
Output zeros_like(Output x, DType dtype = DType::kInvalid, std::string_view name = "zeros_like");
Output ones_like(Output x, DType dtype = DType::kInvalid, std::string_view name = "ones_like");
// tf.fill with a constant shape: Const "<name>/dims", then the Fill.
Output fill(Graph& graph, const Shape& dims, Output value, std::string_view name = "Fill");

// --- Reductions and choices ----------------------------------------------------------------------

// Over these axes; over all where there are none.
using Axes = std::optional<std::vector<int64_t>>;
Output reduce(std::string_view op, Output x, const Axes& axes = {}, bool keep_dims = false,
              std::string_view name = {});

// The parts of `x` where the mask is true; the mask covers the axes from `axis` on.
Output boolean_mask(Output x, Output mask, int axis = 0, std::string_view name = "boolean_mask");

// One IsVariableInitialized per reference, and the names of those that are not, as a string vector.
Output report_uninitialized(Graph& graph, std::span<const Output> references,
                            std::string_view name = "report_uninitialized_variables");

}  // namespace capstan
