// The rows of src/build, called from Python: `build("dropout", x, rate, ...)`. Arguments are taken
// by the kinds of the C++ function's parameters; the graph is that of the first tensor among them.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "build.h"
#include "build/composite.h"
#include "convert.h"
#include "handles.h"

namespace capstan {

Hyper hyper_of(nb::handle value) {
  if (nb::isinstance<TensorHandle>(value)) return output_of(value);
  return nb::cast<double>(value);
}

namespace {

// How an argument of a kind is taken from Python.
template <class T>
struct Taken {
  static T take(nb::handle value) { return nb::cast<T>(value); }
};

template <>
Graph* Taken<Graph*>::take(nb::handle value) {
  return &graph_handle(value).graph;
}
template <>
Output Taken<Output>::take(nb::handle value) {
  return value.is_none() ? Output{} : output_of(value);
}
template <>
std::vector<Output> Taken<std::vector<Output>>::take(nb::handle values) {
  std::vector<Output> outputs;
  for (nb::handle value : nb::iter(values)) outputs.push_back(Taken<Output>::take(value));
  return outputs;
}
template <>
Hyper Taken<Hyper>::take(nb::handle value) {
  return hyper_of(value);
}
template <>
DType Taken<DType>::take(nb::handle value) {
  return dtype_from_python(value);
}
template <>
Shape Taken<Shape>::take(nb::handle value) {
  return shape_from_python(value);
}
template <>
ShapeArgument Taken<ShapeArgument>::take(nb::handle value) {
  if (value.is_none()) return {};
  if (nb::isinstance<TensorHandle>(value)) return output_of(value);
  return shape_from_python(value);
}
template <>
Reduction Taken<Reduction>::take(nb::handle value) {
  return reduction_called(nb::cast<std::string>(value));
}
template <>
VariableRef Taken<VariableRef>::take(nb::handle value) {
  return variable_of(value);
}

template <size_t... i>
Argument taken(uint8_t kind, nb::handle value, std::index_sequence<i...>) {
  using Take = Argument (*)(nb::handle);
  static constexpr Take kTakes[] = {[](nb::handle given) -> Argument {
    return Argument(std::in_place_index<i>,
                    Taken<std::variant_alternative_t<i, Argument>>::take(given));
  }...};
  return kTakes[kind](value);
}

constexpr auto kKinds = std::make_index_sequence<std::variant_size_v<Argument>>{};
constexpr const char* kKindNames[] = {"graph", "tensor", "tensors", "number",    "float",
                                      "bool",  "int",    "text",    "type",      "shape",
                                      "sizes", "axes",   "seed",    "reduction", "variable"};
static_assert(std::size(kKindNames) == std::variant_size_v<Argument>);

Argument checked(const std::string& name, uint8_t kind, nb::handle value) {
  try {
    return taken(kind, value, kKinds);
  } catch (const nb::cast_error&) {
    std::string given = nb::cast<std::string>(nb::repr(value));
    throw nb::type_error(
        fmt::format("{} is no {}, which {} takes here", given, kKindNames[kind], name).c_str());
  }
}

// The graph of an argument, where it has one.
nb::handle graph_of(nb::handle value) {
  if (nb::isinstance<GraphHandle>(value)) return value;
  if (nb::isinstance<TensorHandle>(value)) {
    nb::handle operation = nb::inst_ptr<TensorHandle>(value)->operation;
    return nb::inst_ptr<OperationHandle>(operation)->graph;
  }
  if (nb::hasattr(value, "_variable")) return graph_of(value.attr("_variable"));
  if (!nb::isinstance<nb::list>(value)) return {};
  for (nb::handle item : nb::iter(value)) {
    if (nb::handle graph = graph_of(item)) return graph;
  }
  return {};
}

nb::handle graph_among(const nb::args& arguments) {
  for (nb::handle argument : arguments) {
    if (nb::handle graph = graph_of(argument)) return graph;
  }
  return {};
}

struct ToPython {
  nb::object operator()(Output made) const { return tensor_object(graph, made); }
  nb::object operator()(Node* made) const { return operation_object(graph, *made); }
  nb::object operator()(const std::vector<Output>& made) const {
    nb::list list;
    for (const Output& output : made) list.append(tensor_or_none(graph, output));
    return list;
  }
  nb::handle graph;
};

nb::object build(const std::string& name, const nb::args& given) {
  const Builder& made = composite_called(name).build;
  if (given.size() != made.kinds.size()) {
    throw internal_error("{} takes {} arguments, not {}", name, made.kinds.size(), given.size());
  }
  std::vector<Argument> arguments;
  for (size_t i = 0; i < given.size(); ++i) {
    arguments.push_back(checked(name, made.kinds[i], given[i]));
  }
  return std::visit(ToPython{graph_among(given)}, made.call(arguments));
}

nb::str text(std::string_view value) { return nb::str(value.data(), value.size()); }

// (name, names and parameters, doc, scope, order, constants, kinds)
nb::tuple composite_row(const std::string& name) {
  const CompositeDef& row = composite_called(name);
  nb::list kinds;
  for (uint8_t kind : row.build.kinds) kinds.append(nb::str(kKindNames[kind]));
  return nb::make_tuple(text(row.name), text(row.python), text(row.doc), text(row.scope),
                        text(row.order), text(row.constants), kinds);
}

// {name: what its row says of its Python function}
nb::dict composite_functions() {
  nb::dict functions;
  for (const CompositeDef* row : all_composites()) functions[text(row->name)] = text(row->python);
  return functions;
}

}  // namespace

void bind_composites(nb::module_& m) {
  m.def("build", &build);
  m.def("composite_row", &composite_row);
  m.def("composite_functions", &composite_functions);
}

}  // namespace capstan
