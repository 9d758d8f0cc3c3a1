// Compares the nodes that gradients() appends with those that TensorFlow appended for the same
// graphs (tests/golden/gradients, recorded by tests/oracle/gradient_nodes.py).

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/attr_kind.h"
#include "graph/gradients.h"
#include "graph/graph.h"
#include "ops/catalog.h"
#include "ops/grad_nodes.h"
#include "source_dir.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

std::filesystem::path golden_folder() {
  return std::filesystem::path(source_dir()) / "tests" / "golden" / "gradients";
}

std::vector<std::string> golden_ops() {
  std::vector<std::string> ops;
  for (const auto& file : std::filesystem::directory_iterator(golden_folder()))
    ops.push_back(file.path().stem());
  std::sort(ops.begin(), ops.end());
  return ops;
}

Shape json_shape(const Json& dims) {
  if (dims.is_null()) return Shape::unknown();
  return Shape(dims.get<std::vector<int64_t>>());
}

Tensor json_tensor(const Json& json) {
  DType dtype = dtype_from_name(json["dtype"].get<std::string>());
  Tensor t(dtype, json_shape(json["shape"]));
  for (int64_t i = 0; i < t.size(); ++i) {
    Tensor element = number(dtype, json["values"][size_t(i)].get<double>());
    std::memcpy(static_cast<char*>(t.raw()) + size_t(i) * dtype_size(dtype), element.raw(),
                dtype_size(dtype));
  }
  return t;
}

Attr json_attr(const Json& json) {
  const auto entry = json.begin();
  const std::string& kind = entry.key();
  const Json& value = entry.value();
  if (kind == "type") return dtype_from_name(value.get<std::string>());
  if (kind == "shape") return json_shape(value);
  if (kind == "tensor") return json_tensor(value);
  if (kind == "int") return value.get<int64_t>();
  if (kind == "float") return value.get<float>();
  if (kind == "bool") return value.get<bool>();
  if (kind == "string") return value.get<std::string>();
  if (kind == "list(type)") {
    std::vector<DType> types;
    for (const Json& name : value) types.push_back(dtype_from_name(name.get<std::string>()));
    return types;
  }
  return value.get<std::vector<int64_t>>();  // list(int), and lists that are empty
}

Output json_output(Graph& graph, std::string name) {
  if (name.find(':') == std::string::npos) name += ":0";
  return graph.output(name);
}

void build_forward(Graph& graph, const Json& nodes) {
  for (const Json& node : nodes) {
    std::vector<Output> inputs;
    for (const Json& input : node["inputs"])
      inputs.push_back(json_output(graph, input.get<std::string>()));
    AttrMap attrs;
    for (const auto& [name, value] : node["attrs"].items()) attrs.set(name, json_attr(value));
    graph.add_node(node["op"].get<std::string>(), inputs, std::move(attrs),
                   node["name"].get<std::string>());
  }
}

std::vector<Output> json_outputs(Graph& graph, const Json& names) {
  std::vector<Output> outputs;
  for (const Json& name : names) outputs.push_back(json_output(graph, name.get<std::string>()));
  return outputs;
}

// "name op(inputs) {attrs}", as one line.
std::string line_of(const Node& node) {
  std::string inputs, attrs;
  for (const Output& in : node.inputs()) {
    inputs += in.node->name() + (in.index ? ":" + std::to_string(in.index) : "") + " ";
  }
  for (const Node* before : node.control_inputs()) inputs += "^" + before->name() + " ";
  for (const auto& [name, value] : node.attrs()) {
    if (name[0] == '_') continue;
    const Tensor* tensor = std::get_if<Tensor>(&value);
    attrs +=
        name + "=" + (tensor ? tensor->text(64) + tensor->shape().text() : attr_text(value)) + " ";
  }
  return fmt::format("{} {}({}) {{{}}}", node.name(), node.op(), inputs, attrs);
}

std::string line_of(const Json& node) {
  std::string inputs, attrs;
  for (const Json& input : node["inputs"]) inputs += input.get<std::string>() + " ";
  for (const auto& [name, json] : node["attrs"].items()) {
    Attr value = json_attr(json);
    const Tensor* tensor = std::get_if<Tensor>(&value);
    attrs +=
        name + "=" + (tensor ? tensor->text(64) + tensor->shape().text() : attr_text(value)) + " ";
  }
  return fmt::format("{} {}({}) {{{}}}", node["name"].get<std::string>(),
                     node["op"].get<std::string>(), inputs, attrs);
}

std::string gradient_name(Output grad) { return grad ? grad.name() : "none"; }

void check_case(const Json& golden) {
  SCOPED_TRACE(golden["sample"].get<std::string>());
  Graph graph(standard_catalog());
  build_forward(graph, golden["forward"]);
  int before = graph.size();
  std::vector<Output> ys = json_outputs(graph, golden["ys"]),
                      xs = json_outputs(graph, golden["xs"]);
  std::vector<Output> grads = gradients(graph, ys, xs);
  std::string got, expected;  // texts of many lines, so that a failure shows where they differ
  for (int id = before; id < graph.size(); ++id) got += line_of(graph.node(id)) + "\n";
  for (const Json& node : golden["nodes"]) expected += line_of(node) + "\n";
  EXPECT_EQ(got, expected);
  for (size_t i = 0; i < grads.size(); ++i) {
    const Json& name = golden["grads"][i];
    EXPECT_EQ(gradient_name(grads[i]), name.is_null() ? "none" : name.get<std::string>());
  }
}

class GradientNodes : public ::testing::TestWithParam<std::string> {};

TEST_P(GradientNodes, AreTensorFlows) {
  std::ifstream file(golden_folder() / (GetParam() + ".json"));
  for (const Json& golden : Json::parse(file)) check_case(golden);
}

INSTANTIATE_TEST_SUITE_P(Golden, GradientNodes, ::testing::ValuesIn(golden_ops()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace capstan
