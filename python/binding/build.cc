#include "build.h"

#include <nanobind/stl/string.h>

#include "build/basics.h"
#include "gil.h"
#include "handles.h"

namespace capstan {
namespace {

std::function<Output()> initial_function(nb::object function) {
  return [function = std::move(function)] {
    return call_program([&] { return output_of(function()); });
  };
}

nb::tuple make_variable_parts(nb::handle graph, nb::object initial, const std::string& name,
                              bool validate_shape, bool from_function) {
  VariableOptions options;
  options.name = name;
  options.validate_shape = validate_shape;
  options.from_function = from_function;
  return variable_parts(graph, make_variable(graph_handle(graph).graph,
                                             initial_function(std::move(initial)), options));
}

nb::tuple make_slot_parts(nb::handle graph, nb::handle primary, const std::string& name,
                          nb::object initial, const std::string& scope) {
  return variable_parts(graph, make_slot(graph_handle(graph).graph, variable_of(primary), name,
                                         initial_function(std::move(initial)), scope));
}

nb::object make_group(nb::handle graph, nb::handle ops, const std::string& name) {
  std::vector<Node*> nodes = nodes_of(ops);
  return operation_object(graph, group(graph_handle(graph).graph, nodes, name));
}

nb::object make_report(nb::handle graph, nb::handle references, const std::string& name) {
  std::vector<Output> refs = outputs_of(references);
  return tensor_object(graph, report_uninitialized(graph_handle(graph).graph, refs, name));
}

}  // namespace

VariableRef variable_of(nb::handle variable) {
  VariableRef made;
  made.ref = output_of(variable.attr("_variable"));
  made.read = output_of(variable.attr("_snapshot"));
  made.initial_value = output_of(variable.attr("_initial_value"));
  made.initializer = &node_of(variable.attr("_initializer_op"));
  return made;
}

std::vector<VariableRef> variables_of(nb::handle variables) {
  std::vector<VariableRef> made;
  for (nb::handle variable : nb::iter(variables)) made.push_back(variable_of(variable));
  return made;
}

nb::tuple variable_parts(nb::handle graph, const VariableRef& variable) {
  return nb::make_tuple(tensor_object(graph, variable.ref), tensor_object(graph, variable.read),
                        tensor_object(graph, variable.initial_value),
                        operation_object(graph, *variable.initializer));
}

void bind_build(nb::module_& m) {
  m.def("make_variable", &make_variable_parts);
  m.def("make_slot", &make_slot_parts);
  m.def("make_global_step", [](nb::handle graph) {
    return variable_parts(graph, make_global_step(graph_handle(graph).graph));
  });
  m.def("group", &make_group);
  m.def("report_uninitialized", &make_report);
}

}  // namespace capstan
