// Compares our kernels with what TensorFlow's computed for the same samples
// (tests/golden/op_values.json, recorded by tests/oracle/op_values.py).

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/memory_files.h"
#include "graph/graph.h"
#include "kernel/context.h"
#include "kernel/isa.h"
#include "ops/catalog.h"
#include "ops/sample.h"
#include "ops/types.h"
#include "source_dir.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

Json read_golden() {
  std::ifstream file(std::filesystem::path(source_dir()) / "tests" / "golden" / "op_values.json");
  return Json::parse(file);
}

std::vector<std::string> golden_ops() {
  std::map<std::string, int> ops;
  for (const Json& golden : read_golden()) ++ops[golden["op"].get<std::string>()];
  std::vector<std::string> names;
  for (const auto& [name, count] : ops) names.push_back(name);
  return names;
}

std::vector<Tensor> run_sample(const OpDef& def, const std::string& text, Isa isa) {
  Sample sample = parse_sample(def, text);
  Graph graph(standard_catalog());
  std::vector<Output> inputs;
  std::vector<KernelInput> values;
  for (const Tensor& input : sample.inputs) {
    inputs.push_back(graph.constant(input));
    values.push_back({input, nullptr});
  }
  Node& node = graph.add_node(def.name, inputs, sample.attrs, "op");
  MemoryFiles files;
  TaskState task("/job:localhost/task:0", 1, files, isa);
  SessionState session;
  Cancellation cancellation;
  RunContext run{&task, &session, &cancellation};
  return run_kernel(node, std::move(values), run);
}

double element(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kFloat: return t.data<float>()[i];
    case DType::kDouble: return t.data<double>()[i];
    case DType::kBool: return t.data<bool>()[i];
    case DType::kUInt8: return t.data<uint8_t>()[i];
    default: return double(int_at(t, i));
  }
}

double json_number(const Json& value) {
  if (value.is_string()) return std::stod(value.get<std::string>());  // nan, inf, -inf
  return value.is_boolean() ? double(value.get<bool>()) : value.get<double>();
}

void expect_close(double got, double expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected)) {
    EXPECT_EQ(std::isnan(got), std::isnan(expected));
    if (std::isinf(expected)) {
      EXPECT_EQ(got, expected);
    }
    return;
  }
  EXPECT_NEAR(got, expected, tolerance * std::max(1.0, std::abs(expected)));
}

void check_output(const Tensor& got, const Json& expected) {
  ASSERT_EQ(dtype_name(got.dtype()), expected["dtype"].get<std::string>());
  ASSERT_EQ(got.shape(), Shape(expected["shape"].get<std::vector<int64_t>>()));
  double tolerance = got.dtype() == DType::kFloat    ? 2e-6
                     : got.dtype() == DType::kDouble ? 1e-12
                                                     : 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(element(got, i), json_number(expected["values"][size_t(i)]), tolerance);
  }
}

class OpValues : public ::testing::TestWithParam<std::string> {};

TEST_P(OpValues, AreTensorFlows) {
  for (const Json& golden : read_golden()) {
    if (golden["op"].get<std::string>() != GetParam()) continue;
    std::string text = golden["sample"].get<std::string>();
    for (Isa isa : machine_isas()) {
      SCOPED_TRACE(text + " with instruction set " + std::to_string(int(isa)));
      std::vector<Tensor> outputs = run_sample(standard_catalog().get(GetParam()), text, isa);
      ASSERT_EQ(outputs.size(), golden["outputs"].size());
      for (size_t i = 0; i < outputs.size(); ++i) check_output(outputs[i], golden["outputs"][i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, OpValues, ::testing::ValuesIn(golden_ops()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace capstan
