// Operations and tensors as Python sees them.

#include <nanobind/stl/string.h>

#include "convert.h"
#include "graph/shape_context.h"
#include "handles.h"

namespace capstan {
namespace {

int traverse_operation(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  auto* handle = nb::inst_ptr<OperationHandle>(self);
  Py_VISIT(handle->graph.ptr());
  for (Ref& output : handle->outputs) Py_VISIT(output.ptr());
  return 0;
}

int clear_operation(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  auto* handle = nb::inst_ptr<OperationHandle>(self);
  Ref graph = std::move(handle->graph);
  std::vector<Ref> outputs = std::move(handle->outputs);
  return 0;
}

int traverse_tensor(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<TensorHandle>(self)->operation.ptr());
  return 0;
}

int clear_tensor(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  Ref operation = std::move(nb::inst_ptr<TensorHandle>(self)->operation);
  return 0;
}

PyType_Slot kOperationSlots[] = {{Py_tp_traverse, (void*)traverse_operation},
                                 {Py_tp_clear, (void*)clear_operation},
                                 {0, nullptr}};
PyType_Slot kTensorSlots[] = {
    {Py_tp_traverse, (void*)traverse_tensor}, {Py_tp_clear, (void*)clear_tensor}, {0, nullptr}};

nb::object graph_of_tensor(const TensorHandle& tensor) {
  return nb::inst_ptr<OperationHandle>(tensor.operation)->graph;
}

nb::list outputs_of_operation(OperationHandle& op) {
  nb::list list;
  for (int i = 0; i < op.node->outputs(); ++i)
    list.append(tensor_object(op.graph, op.node->output(i)));
  return list;
}

// Nodes that take this tensor, in the order in which they were made.
nb::list consumers(const TensorHandle& tensor) {
  nb::object graph = graph_of_tensor(tensor);
  Graph& all = graph_handle(graph).graph;
  nb::list list;
  for (int id = tensor.output.node->id() + 1; id < all.size(); ++id) {
    Node& node = all.node(id);
    const auto& inputs = node.inputs();
    if (std::find(inputs.begin(), inputs.end(), tensor.output) != inputs.end()) {
      list.append(operation_object(graph, node));
    }
  }
  return list;
}

nb::object attr_of(const OperationHandle& op, const std::string& name) {
  const Attr* attr = op.node->attrs().find(name);
  if (!attr) {
    throw nb::value_error(
        fmt::format("operation '{}' has no attr named '{}'", op.node->name(), name).c_str());
  }
  return attr_to_python(*attr);
}

nb::dict attrs_of(const OperationHandle& op) {
  nb::dict dict;
  for (const auto& [name, value] : op.node->attrs()) dict[name.c_str()] = attr_to_python(value);
  return dict;
}

nb::object constant_of(const TensorHandle& tensor) {
  std::optional<Tensor> value = constant_value(tensor.output);
  return value ? Numpy().array(*value) : nb::object(nb::none());
}

void bind_operation(nb::module_& m) {
  nb::class_<OperationHandle>(m, "OperationBase", nb::type_slots(kOperationSlots),
                              nb::is_weak_referenceable())
      .def_prop_ro("graph", [](const OperationHandle& op) { return op.graph; })
      .def_prop_ro("name", [](const OperationHandle& op) { return op.node->name(); })
      .def_prop_ro("type", [](const OperationHandle& op) { return std::string(op.node->op()); })
      .def_prop_ro("device", [](const OperationHandle& op) { return op.node->device(); })
      .def_prop_ro("_id", [](const OperationHandle& op) { return op.node->id(); })
      .def_prop_ro("_location", [](const OperationHandle& op) { return op.node->location(); })
      .def_prop_ro("outputs", &outputs_of_operation)
      .def_prop_ro(
          "_inputs",
          [](const OperationHandle& op) { return tensor_list(op.graph, op.node->inputs()); })
      .def_prop_ro("control_inputs",
                   [](const OperationHandle& op) {
                     return operation_list(op.graph, op.node->control_inputs());
                   })
      .def("_attr", &attr_of)
      .def("_attrs", &attrs_of)
      .def("_input_is_ref",
           [](const OperationHandle& op, int i) { return op.node->input_is_ref(i); });
}

void bind_tensor(nb::module_& m) {
  nb::class_<TensorHandle>(m, "TensorBase", nb::type_slots(kTensorSlots),
                           nb::is_weak_referenceable())
      .def_prop_ro("op", [](const TensorHandle& tensor) { return tensor.operation; })
      .def_prop_ro("graph", &graph_of_tensor)
      .def_prop_ro("name", [](const TensorHandle& tensor) { return tensor.output.name(); })
      .def_prop_ro("value_index", [](const TensorHandle& tensor) { return tensor.output.index; })
      .def_prop_ro("device",
                   [](const TensorHandle& tensor) { return tensor.output.node->device(); })
      .def_prop_ro("_dtype_number",
                   [](const TensorHandle& tensor) {
                     return int(tensor.output.dtype()) + (tensor.output.is_ref() ? 100 : 0);
                   })
      .def_prop_ro(
          "_dims",
          [](const TensorHandle& tensor) { return shape_to_python(tensor.output.shape()); })
      .def(
          "_merge_shape",
          [](const TensorHandle& tensor, nb::handle shape) {
            tensor.output.graph().set_shape(tensor.output, shape_from_python(shape));
          },
          nb::arg().none())
      .def("_constant_value", &constant_of)
      .def("consumers", &consumers);
}

}  // namespace

void bind_elements(nb::module_& m) {
  bind_operation(m);
  bind_tensor(m);
}

}  // namespace capstan
