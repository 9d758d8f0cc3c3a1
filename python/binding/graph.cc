// Graphs as Python sees them: adding nodes, the state that names and places them, gradients,
// GraphDefs.

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.h"
#include "device_setter.h"
#include "gil.h"
#include "graph/attr_kind.h"
#include "graph/device.h"
#include "graph/gradients.h"
#include "graph/graph_def.h"
#include "handles.h"

namespace capstan {
namespace {

int traverse_graph(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  auto* handle = nb::inst_ptr<GraphHandle>(self);
  Py_VISIT(handle->operation_type.ptr());
  Py_VISIT(handle->tensor_type.ptr());
  for (Ref& operation : handle->operations) Py_VISIT(operation.ptr());
  return 0;
}

int clear_graph(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  std::vector<Ref> operations = std::move(nb::inst_ptr<GraphHandle>(self)->operations);
  return 0;
}

PyType_Slot kGraphSlots[] = {
    {Py_tp_traverse, (void*)traverse_graph}, {Py_tp_clear, (void*)clear_graph}, {0, nullptr}};

AttrMap attrs_from_python(const OpDef& def, nb::dict attrs) {
  AttrMap map;
  for (auto [key, value] : attrs) {
    std::string name = nb::cast<std::string>(key);
    const AttrDef* row = find_attr(def, name);
    map.set(name, row ? attr_from_python(*row, value) : attr_from_python(value));
  }
  return map;
}

nb::object create_op(nb::handle self, const std::string& type, nb::handle inputs, nb::dict attrs,
                     const std::string& name) {
  Graph& graph = graph_handle(self).graph;
  AttrMap map;
  if (const OpDef* def = graph.catalog().find(type)) map = attrs_from_python(*def, attrs);
  Node& node = graph.add_node(type, outputs_of(inputs), std::move(map), name);
  return operation_object(self, node);
}

nb::object find_operation(nb::handle self, const std::string& name) {
  Node* node = graph_handle(self).graph.find(name);
  return node ? operation_object(self, *node) : nb::object(nb::none());
}

nb::list operations_from(nb::handle self, int first) {
  Graph& graph = graph_handle(self).graph;
  nb::list list;
  for (int id = first; id < graph.size(); ++id) list.append(operation_object(self, graph.node(id)));
  return list;
}

// The block holds the function, and ends before the graph does.
DeviceFunction device_function(nb::handle graph, nb::object function) {
  return [graph, function = std::move(function)](const Node& node) {
    nb::object device =
        call_program([&] { return function(operation_object(graph, const_cast<Node&>(node))); });
    return device.is_none() ? std::string() : nb::cast<std::string>(nb::str(device));
  };
}

DeviceFunction setter_function(nb::handle graph, nb::handle object) {
  auto& setter = nb::cast<DeviceSetter&>(object);
  return [graph, state = setter.state, function = setter.function](const Node& node) {
    state->graph = graph;
    return function(node);
  };
}

ScopeGuard enter_device(nb::handle self, nb::object device) {
  Graph& graph = graph_handle(self).graph;
  if (device.is_none()) return graph.no_device();
  if (PyUnicode_Check(device.ptr()))
    return graph.device(std::string_view(nb::cast<std::string>(device)));
  if (nb::isinstance<DeviceSetter>(device)) return graph.device(setter_function(self, device));
  return graph.device(device_function(self, std::move(device)));
}

ScopeGuard enter_controls(nb::handle self, nb::handle elements) {
  Graph& graph = graph_handle(self).graph;
  if (elements.is_none()) return graph.clear_control_dependencies();
  return graph.control_dependencies(nodes_of(elements));
}

ScopeGuard enter_colocation(nb::handle self, nb::handle element, bool ignore_existing) {
  Node* node = element.is_none() ? nullptr : &node_or_op_of(element);
  return graph_handle(self).graph.colocate_with(node, ignore_existing);
}

nb::list make_gradients(nb::handle self, nb::handle ys, nb::handle xs, nb::handle grad_ys,
                        const std::string& name, bool colocate, bool gate, bool tree,
                        nb::handle stop) {
  GradientOptions options;
  options.grad_ys = outputs_of(grad_ys);
  options.name = name;
  options.colocate_with_ops = colocate;
  options.gate = gate;
  options.aggregation = tree ? Aggregation::kTree : Aggregation::kAddN;
  options.stop = outputs_of(stop);
  std::vector<Output> y = outputs_of(ys), x = outputs_of(xs);
  return tensor_list(self, gradients(graph_handle(self).graph, y, x, options));
}

nb::list import_graph_def(nb::handle self, nb::bytes bytes, const std::string& prefix,
                          nb::dict input_map) {
  ImportOptions options;
  options.prefix = prefix;
  for (auto [key, value] : input_map)
    options.input_map[nb::cast<std::string>(key)] = output_of(value);
  std::string_view text(bytes.c_str(), bytes.size());
  return operation_list(self, from_graph_def(graph_handle(self).graph, text, options));
}

nb::bytes graph_def_bytes(nb::handle self, int from, bool add_shapes) {
  std::string bytes = to_graph_def(graph_handle(self).graph, from, add_shapes);
  return nb::bytes(bytes.data(), bytes.size());
}

void bind_state(nb::class_<GraphHandle>& graph) {
  graph
      .def(
          "_name_scope",
          [](GraphHandle& g, const std::string& name) { return g.graph.name_scope(name); },
          nb::keep_alive<0, 1>())
      .def_prop_ro("_scope", [](GraphHandle& g) { return g.graph.current_scope(); })
      .def(
          "unique_name",
          [](GraphHandle& g, const std::string& name, bool mark) {
            return g.graph.unique_name(name, mark);
          },
          nb::arg("name"), nb::arg("mark_as_used") = true)
      .def("_device", &enter_device, nb::arg().none(), nb::keep_alive<0, 1>())
      .def("_colocate_with", &enter_colocation, nb::arg().none(), nb::arg(), nb::keep_alive<0, 1>())
      .def("_control_dependencies", &enter_controls, nb::arg().none(), nb::keep_alive<0, 1>())
      .def("_control_inputs_for",
           [](nb::handle self, nb::handle inputs) {
             std::vector<Output> outputs = outputs_of(inputs);
             return operation_list(self, graph_handle(self).graph.control_inputs_for(outputs));
           })
      .def(
          "_container",
          [](GraphHandle& g, const std::string& name) { return g.graph.container(name); },
          nb::keep_alive<0, 1>())
      .def(
          "_attr_scope_one",
          [](GraphHandle& g, const std::string& name, nb::handle value) {
            return g.graph.attr_scope(name, attr_from_python(value));
          },
          nb::keep_alive<0, 1>())
      .def_prop_rw(
          "seed", [](GraphHandle& g) { return g.graph.seed(); },
          [](GraphHandle& g, std::optional<int64_t> seed) { g.graph.set_seed(seed); },
          nb::for_setter(nb::arg().none()))
      .def(
          "_random_seeds",
          [](GraphHandle& g, std::optional<int64_t> seed) { return g.graph.random_seeds(seed); },
          nb::arg().none())
      .def_prop_ro("finalized", [](GraphHandle& g) { return g.graph.finalized(); })
      .def("finalize", [](GraphHandle& g) { g.graph.finalize(); })
      .def("_unsafe_unfinalize", [](GraphHandle& g) { g.graph.unfinalize(); })
      .def("_locate", [](GraphHandle& g, std::vector<std::string> ours) {
        g.graph.set_locator([ours] { return program_line(ours); });
      });
}

void bind_nodes(nb::class_<GraphHandle>& graph) {
  graph.def("_create_op", &create_op)
      .def("_find", &find_operation)
      .def("_operations_from", &operations_from)
      .def("_size", [](GraphHandle& g) { return g.graph.size(); })
      .def_prop_ro("version", [](GraphHandle& g) { return g.graph.version(); })
      .def("_output",
           [](nb::handle self, const std::string& name) {
             return tensor_object(self, graph_handle(self).graph.output(name));
           })
      .def("_add_control_input",
           [](GraphHandle& g, nb::handle op, nb::handle before) {
             g.graph.add_control_input(node_of(op), node_or_op_of(before));
           })
      .def("_set_attr",
           [](GraphHandle& g, nb::handle op, const std::string& name, nb::handle value) {
             const AttrDef* row = find_attr(node_of(op).def(), name);
             g.graph.set_attr(node_of(op), name,
                              row ? attr_from_python(*row, value) : attr_from_python(value));
           })
      .def("_set_device",
           [](GraphHandle& g, nb::handle op, const std::string& device) {
             g.graph.set_device(node_of(op), device);
           })
      .def("_gradients", &make_gradients)
      .def("_import_graph_def", &import_graph_def)
      .def("_graph_def", &graph_def_bytes);
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<ScopeGuard>(m, "Guard").def("close", &ScopeGuard::close);
  nb::class_<GraphHandle> graph(m, "GraphBase", nb::type_slots(kGraphSlots),
                                nb::is_weak_referenceable());
  graph.def(nb::init<nb::object, nb::object>());
  bind_nodes(graph);
  bind_state(graph);
  m.def("canonical_device", [](const std::string& text) { return Device::parse(text).text(); });
  m.def("merge_devices", [](const std::string& outer, const std::string& inner) {
    return Device::parse(outer).merged_with(Device::parse(inner)).text();
  });
  m.def("program_line", [](std::vector<std::string> ours) { return program_line(ours); });
}

}  // namespace capstan
