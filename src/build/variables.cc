#include "build/variables.h"

#include "build/basics.h"

namespace capstan {
namespace {

VariableRef finish(Graph& graph, Output initial, const Shape& shape, DType dtype,
                   const std::string& scope, bool validate_shape) {
  VariableRef v;
  v.initial_value = initial;
  v.ref = graph.add("VariableV2", {}, {{"shape", shape}, {"dtype", dtype}}, scope + "/");
  {
    auto with = graph.colocate_with(v.ref.node);
    v.initializer =
        graph.add("Assign", {v.ref, initial}, {{"validate_shape", validate_shape}}).node;
    v.read = graph.add("Identity", {v.ref}, {}, "read");
  }
  return v;
}

}  // namespace

VariableRef make_variable(Graph& graph, const std::function<Output()>& initial,
                          VariableOptions options) {
  auto lifted = graph.clear_control_dependencies();
  auto scope = graph.name_scope(options.name);
  std::string name = graph.current_scope();
  if (!options.from_function) {
    Output value = initial();
    DType dtype = options.dtype == DType::kInvalid ? value.dtype() : options.dtype;
    Shape shape = options.shape.known_rank() ? options.shape
                  : options.validate_shape   ? value.shape()
                                             : Shape::unknown();
    return finish(graph, value, shape, dtype, name, options.validate_shape);
  }
  auto attrs = graph.attr_scope("_class", std::vector<std::string>{"loc:@" + name});
  Output value;
  {
    auto inner = graph.name_scope("Initializer");
    auto nowhere = graph.no_device();
    value = initial();
  }
  DType dtype = options.dtype == DType::kInvalid ? value.dtype() : options.dtype;
  Shape shape = options.shape.known_rank() ? options.shape : value.shape();
  return finish(graph, value, shape, dtype, name, options.validate_shape);
}

VariableRef make_variable(Graph& graph, Tensor initial, VariableOptions options) {
  return make_variable(
      graph, [&] { return graph.constant(std::move(initial), "initial_value"); },
      std::move(options));
}

VariableRef make_slot(Graph& graph, const VariableRef& primary, std::string_view name,
                      const std::function<Output()>& initial, std::string_view scope) {
  auto with = graph.colocate_with(primary.ref.node);
  // A second slot under the same name gets a number, below the primary's name wherever that is.
  std::string base =
                  fmt::format("{}{}{}/{}", scope, scope.empty() ? "" : "/", primary.name(), name),
              full = base;
  for (int i = 1; graph.find(full); ++i) full = fmt::format("{}_{}", base, i);
  VariableOptions options;
  options.name = full + "/";
  options.dtype = primary.dtype();
  options.from_function = true;
  return make_variable(graph, initial, std::move(options));
}

VariableRef make_zeros_slot(Graph& graph, const VariableRef& primary, std::string_view name,
                            std::string_view scope) {
  if (!primary.shape().fully_defined()) {
    throw invalid_argument(
        "variable '{}' has the shape {}, which must be known for an optimizer's slots",
        primary.name(), primary.shape());
  }
  return make_slot(
      graph, primary, name, [&] { return zeros(graph, primary.shape(), primary.dtype()); }, scope);
}

VariableRef make_global_step(Graph& graph) {
  auto root = graph.name_scope("");
  VariableOptions options;
  options.name = "global_step";
  options.from_function = true;
  return make_variable(
      graph, [&] { return graph.constant(Tensor::scalar<int64_t>(0), "zeros"); },
      std::move(options));
}

Node& initialize(Graph& graph, std::span<const VariableRef> variables, std::string_view name) {
  std::vector<Node*> nodes;
  for (const VariableRef& v : variables) nodes.push_back(v.initializer);
  return group(graph, nodes, name);
}

}  // namespace capstan
