#pragma once

// For the tests of this room: a few small rows, so that they need no real ops, and helpers.

#include <string>
#include <vector>

#include "base/error.h"
#include "graph/gradients.h"
#include "graph/graph.h"
#include "graph/shape_context.h"

namespace capstan::testing {

inline void attr_shape(ShapeContext& c) { c.out(0, c.attr<Shape>("shape")); }
inline void matmul_shape(ShapeContext& c) {
  Shape a = c.with_rank(0, 2), b = c.with_rank(1, 2);
  if (a[1] >= 0 && b[0] >= 0 && a[1] != b[0]) {
    throw invalid_argument("the inner dimensions {} and {} differ", a[1], b[0]);
  }
  c.out(0, {a[0], b[1]});
}
inline void from_shape_input(ShapeContext& c, int i) {
  if (auto shape = c.in_as_shape(i)) c.out(0, *shape);
}

constexpr OpDef kRows[] = {
    {.name = "NoOp", .shape = no_outputs},
    {.name = "Placeholder",
     .outputs = {{"output", "dtype"}},
     .attrs = {{"dtype", "type"}, {"shape", "shape", "?"}},
     .shape = attr_shape},
    {.name = "Const",
     .outputs = {{"output", "dtype"}},
     .attrs = {{"value", "tensor"}, {"dtype", "type"}},
     .shape = [](ShapeContext& c) { c.out(0, c.attr<Tensor>("value").shape()); },
     .no_gradient = true,
     .constant = true,
     .foretold = true},
    {.name = "VariableV2",
     .outputs = {{"ref", "Ref(dtype)"}},
     .attrs = {{"shape", "shape"},
               {"dtype", "type"},
               {"container", "string", "''"},
               {"shared_name", "string", "''"}},
     .shape = attr_shape,
     .stateful = true},
    {.name = "Assign",
     .inputs = {{"ref", "Ref(T)"}, {"value", "T"}},
     .outputs = {{"output_ref", "Ref(T)"}},
     .attrs = {{"T", "type"}, {"use_locking", "bool", "true"}},
     .shape = ref_same_shape,
     .writes = 1},
    {.name = "Identity",
     .inputs = {{"input", "T"}},
     .outputs = {{"output", "T"}},
     .attrs = {{"T", "type"}},
     .shape = same_shape,
     .gradient = [](GradContext& g) -> Values { return {g.dy(0)}; }},
    {.name = "AddV2",
     .inputs = {{"x", "T"}, {"y", "T"}},
     .outputs = {{"z", "T"}},
     .attrs = {{"T", "type:float|double|int32|int64"}},
     .shape = broadcast_shape,
     .gradient = [](GradContext& g) -> Values {
       return {g.dy(0), g.dy(0)};
     }},
    {.name = "Mul",
     .inputs = {{"x", "T"}, {"y", "T"}},
     .outputs = {{"z", "T"}},
     .attrs = {{"T", "type:float|double|int32|int64"}},
     .shape = broadcast_shape,
     .gradient = [](GradContext& g) -> Values {
       Output left = g.op("Mul", {g.dy(0), g.x(1)});
       return {left, g.op("Mul", {g.dy(0), g.x(0)})};
     }},
    {.name = "MatMul",
     .inputs = {{"a", "T"}, {"b", "T"}},
     .outputs = {{"product", "T"}},
     .attrs = {{"transpose_a", "bool", "false"}, {"T", "type:float|double"}},
     .shape = matmul_shape},
    {.name = "Tanh",
     .inputs = {{"x", "T"}},
     .outputs = {{"y", "T"}},
     .attrs = {{"T", "type:float"}},
     .shape = same_shape,
     .gradient = [](GradContext& g) -> Values {
       return {g.op("TanhGrad", {g.y(0), g.dy(0)})};
     }},
    {.name = "TanhGrad",
     .inputs = {{"y", "T"}, {"dy", "T"}},
     .outputs = {{"z", "T"}},
     .attrs = {{"T", "type:float"}},
     .shape = same_shape},
    {.name = "Exp",
     .inputs = {{"x", "T"}},
     .outputs = {{"y", "T"}},
     .attrs = {{"T", "type:float"}},
     .shape = same_shape,
     .gradient = [](GradContext& g) -> Values {
       return {g.op("Mul", {g.dy(0), g.y(0)}, {}, "mul")};
     }},
    {.name = "AddN",
     .inputs = {{"inputs", "N*T"}},
     .outputs = {{"sum", "T"}},
     .attrs = {{"N", "int"}, {"T", "type"}},
     .shape = same_shape},
    {.name = "Fill",
     .inputs = {{"dims", "index_type"}, {"value", "T"}},
     .outputs = {{"output", "T"}},
     .attrs = {{"T", "type"}, {"index_type", "type:int32|int64", "int32"}},
     .shape = [](ShapeContext& c) { from_shape_input(c, 0); }},
    {.name = "Reshape",
     .inputs = {{"tensor", "T"}, {"shape", "Tshape"}},
     .outputs = {{"output", "T"}},
     .attrs = {{"T", "type"}, {"Tshape", "type:int32|int64", "int32"}},
     .shape = [](ShapeContext& c) { from_shape_input(c, 1); }},
    {.name = "Shape",
     .inputs = {{"input", "T"}},
     .outputs = {{"output", "out_type"}},
     .attrs = {{"T", "type"}, {"out_type", "type:int32|int64", "int32"}},
     .shape = [](ShapeContext& c) { c.out(0, {c.in(0).known_rank() ? c.in(0).rank() : -1}); },
     .no_gradient = true},
    {.name = "ZerosLike",
     .inputs = {{"x", "T"}},
     .outputs = {{"y", "T"}},
     .attrs = {{"T", "type"}},
     .shape = same_shape},
    {.name = "Halves",
     .doc = "Two outputs, of which one may get no gradient.",
     .inputs = {{"x", "T"}},
     .outputs = {{"left", "T"}, {"right", "T"}},
     .attrs = {{"T", "type"}},
     .shape = unknown_shape,
     .gradient = [](GradContext& g) -> Values {
       return {g.op("AddV2", {g.dy(0), g.dy(1)}, {}, "add")};
     }},
    {.name = "Split",
     .inputs = {{"value", "T"}},
     .outputs = {{"output", "num_split*T"}},
     .attrs = {{"num_split", "int"}, {"T", "type"}},
     .shape = unknown_shape},
    {.name = "Pack",
     .inputs = {{"values", "N*T"}},
     .outputs = {{"output", "T"}},
     .attrs = {{"N", "int"}, {"T", "type"}, {"axis", "int", "0"}},
     .shape = [](ShapeContext& c) { c.out(0, {int64_t(c.inputs())}); }},
    {.name = "Cast",
     .inputs = {{"x", "SrcT"}},
     .outputs = {{"y", "DstT"}},
     .attrs = {{"SrcT", "type"}, {"DstT", "type"}},
     .shape = same_shape},
    {.name = "StridedSlice",
     .inputs = {{"input", "T"}, {"begin", "Index"}, {"end", "Index"}, {"strides", "Index"}},
     .outputs = {{"output", "T"}},
     .attrs = {{"T", "type"},
               {"Index", "type:int32|int64"},
               {"begin_mask", "int", "0"},
               {"end_mask", "int", "0"},
               {"ellipsis_mask", "int", "0"},
               {"new_axis_mask", "int", "0"},
               {"shrink_axis_mask", "int", "0"}},
     .shape =
         [](ShapeContext& c) {
           if (c.attr<int64_t>("shrink_axis_mask")) c.out(0, Shape{});
         }},
    {.name = "Enqueue",
     .inputs = {{"handle", "Ref(string)"}, {"components", "Tcomponents"}},
     .attrs = {{"Tcomponents", "list(type)"}, {"timeout_ms", "int", "-1"}},
     .shape = no_outputs},
    {.name = "Queue",
     .outputs = {{"handle", "Ref(string)"}},
     .attrs = {{"component_types", "list(type)"},
               {"shapes", "list(shape)", "[]"},
               {"scale", "float", "0.5"},
               {"kernel", "list(int)", "[1, 2]"}},
     .shape = scalar_shape,
     .stateful = true},
    {.name = "Opaque",
     .inputs = {{"x", "T"}},
     .outputs = {{"y", "T"}},
     .attrs = {{"T", "type"}},
     .shape = same_shape},
};

inline const Catalog& test_catalog() {
  static const Catalog catalog = [] {
    std::vector<const OpDef*> rows;
    for (const OpDef& row : kRows) rows.push_back(&row);
    return Catalog(rows);
  }();
  return catalog;
}

inline Output placeholder(Graph& graph, const Shape& shape, std::string_view name = "x",
                          DType dtype = DType::kFloat) {
  return graph.add("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name);
}

// The text of the Error that f throws; "" when it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// "Op name(input, input, ^control)" of each node from `first` on.
inline std::vector<std::string> node_texts(const Graph& graph, int first = 0) {
  std::vector<std::string> out;
  for (int id = first; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    std::string inputs;
    auto add = [&](const std::string& input) { inputs += (inputs.empty() ? "" : ", ") + input; };
    for (const Output& input : node.inputs()) add(input.name());
    for (const Node* before : node.control_inputs()) add("^" + before->name());
    out.push_back(fmt::format("{} {}({})", node.op(), node.name(), inputs));
  }
  return out;
}

}  // namespace capstan::testing
