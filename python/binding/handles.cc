#include "handles.h"

#include "ops/catalog.h"

namespace capstan {

GraphHandle::GraphHandle(nb::object operation_type, nb::object tensor_type)
    : graph(standard_catalog()),
      operation_type(std::move(operation_type)),
      tensor_type(std::move(tensor_type)) {}

GraphHandle& graph_handle(nb::handle graph) {
  if (!nb::isinstance<GraphHandle>(graph)) throw nb::type_error("expected a Graph");
  return *nb::inst_ptr<GraphHandle>(graph);
}

nb::object operation_object(nb::handle graph, Node& node) {
  GraphHandle& handle = *nb::inst_ptr<GraphHandle>(graph);
  if (handle.operations.size() <= size_t(node.id()))
    handle.operations.resize(size_t(handle.graph.size()));
  Ref& slot = handle.operations[size_t(node.id())];
  if (!slot.is_valid()) {
    nb::object made = nb::inst_alloc(handle.operation_type);
    std::vector<Ref> outputs(size_t(node.outputs()));
    new (nb::inst_ptr<OperationHandle>(made))
        OperationHandle{nb::borrow(graph), &node, std::move(outputs)};
    nb::inst_mark_ready(made);
    slot = made;
  }
  return slot;
}

nb::object tensor_object(nb::handle graph, Output output) {
  nb::object operation = operation_object(graph, *output.node);
  Ref& slot = nb::inst_ptr<OperationHandle>(operation)->outputs[size_t(output.index)];
  if (!slot.is_valid()) {
    nb::object made = nb::inst_alloc(nb::inst_ptr<GraphHandle>(graph)->tensor_type);
    new (nb::inst_ptr<TensorHandle>(made)) TensorHandle{operation, output};
    nb::inst_mark_ready(made);
    slot = made;
  }
  return slot;
}

nb::object tensor_or_none(nb::handle graph, Output output) {
  return output ? tensor_object(graph, output) : nb::object(nb::none());
}

nb::list tensor_list(nb::handle graph, const std::vector<Output>& outputs) {
  nb::list list;
  for (const Output& output : outputs) list.append(tensor_or_none(graph, output));
  return list;
}

nb::list operation_list(nb::handle graph, const std::vector<Node*>& nodes) {
  nb::list list;
  for (Node* node : nodes) list.append(operation_object(graph, *node));
  return list;
}

Node& node_of(nb::handle operation) {
  if (!nb::isinstance<OperationHandle>(operation)) {
    throw nb::type_error(
        fmt::format("expected an Operation, not {}", nb::inst_name(operation).c_str()).c_str());
  }
  return *nb::inst_ptr<OperationHandle>(operation)->node;
}

Output output_of(nb::handle tensor) {
  if (!nb::isinstance<TensorHandle>(tensor)) {
    throw nb::type_error(
        fmt::format("expected a Tensor, not {}", nb::inst_name(tensor).c_str()).c_str());
  }
  return nb::inst_ptr<TensorHandle>(tensor)->output;
}

Node& node_or_op_of(nb::handle element) {
  return nb::isinstance<TensorHandle>(element) ? *output_of(element).node : node_of(element);
}

std::vector<Output> outputs_of(nb::handle tensors) {
  std::vector<Output> outputs;
  for (nb::handle tensor : nb::iter(tensors)) {
    outputs.push_back(tensor.is_none() ? Output() : output_of(tensor));
  }
  return outputs;
}

std::vector<Node*> nodes_of(nb::handle elements) {
  std::vector<Node*> nodes;
  for (nb::handle element : nb::iter(elements)) nodes.push_back(&node_or_op_of(element));
  return nodes;
}

namespace {

// Our own code, and the interpreter's importer.
bool is_ours(std::string_view file, const std::vector<std::string>& ours) {
  if (file.starts_with("<frozen")) return true;
  for (const std::string& folder : ours) {
    if (file.starts_with(folder)) return true;
  }
  return false;
}

}  // namespace

std::string program_line(const std::vector<std::string>& ours) {
  nb::object frame = nb::steal((PyObject*)PyThreadState_GetFrame(PyThreadState_Get()));
  while (frame.is_valid()) {
    auto* raw = (PyFrameObject*)frame.ptr();
    nb::object code = nb::steal((PyObject*)PyFrame_GetCode(raw));
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(((PyCodeObject*)code.ptr())->co_filename, &size);
    if (!text) throw nb::python_error();
    std::string_view file(text, size_t(size));
    if (!is_ours(file, ours)) {
      size_t slash = file.rfind('/');
      std::string_view base = slash == file.npos ? file : file.substr(slash + 1);
      return fmt::format("{}:{}", base, PyFrame_GetLineNumber(raw));
    }
    frame = nb::steal((PyObject*)PyFrame_GetBack(raw));
  }
  return {};
}

}  // namespace capstan
