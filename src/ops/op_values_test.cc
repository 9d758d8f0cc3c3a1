// Compares our kernels, compiled for each instruction set, with what TensorFlow's computed for the
// same samples (tests/golden/op_values, recorded by tests/oracle/op_records.py). Gradients, errors,
// variables and sequences are compared through sessions, by tests/oracle/test_op_values.py.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/isa.h"
#include "base/memory_files.h"
#include "graph/graph.h"
#include "kernel/context.h"
#include "ops/catalog.h"
#include "ops/sample.h"
#include "source_dir.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

std::filesystem::path golden_folder() {
  return std::filesystem::path(source_dir()) / "tests" / "golden" / "op_values";
}

Json read_golden(const std::string& op) {
  std::ifstream file(golden_folder() / (op + ".json"));
  return Json::parse(file);
}

// Sequences lie in the same folder, under names that no op has.
std::vector<std::string> golden_ops() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder())) {
    std::string name = entry.path().stem();
    const OpDef* def = standard_catalog().find(name);
    if (def && def->writes == 0) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

// TensorFlow gave tensors, from which we do not differ on purpose, and of types that a sample has.
bool has_values(const Json& golden) {
  const std::string& sample = golden["sample"].get_ref<const std::string&>();
  return golden["outputs"].is_array() && !golden.contains("differs") &&
         sample.find("half[") == std::string::npos &&
         sample.find("complex64") == std::string::npos && sample.find("=half") == std::string::npos;
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

double json_number(const Json& value) {
  if (value.is_string()) return std::stod(value.get<std::string>());  // nan, inf, -inf
  return value.get<double>();
}

// Below the smallest normal number TensorFlow flushes to zero; `absolute` is for sums, whose terms
// may cancel.
void expect_close(double got, double expected, double relative, double absolute) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << got;
  } else if (std::isinf(expected)) {
    EXPECT_EQ(got, expected);
  } else if (expected == 0 && got == 0) {
    EXPECT_EQ(std::signbit(got), std::signbit(expected));
  } else {
    EXPECT_NEAR(got, expected, std::max(relative * std::abs(expected), absolute));
  }
}

template <class T>
void expect_elements(const Tensor& got, const Json& values, bool element_wise) {
  for (int64_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    const Json& expected = values[size_t(i)];
    if constexpr (std::is_floating_point_v<T>) {
      bool single = std::is_same_v<T, float>;
      double absolute = element_wise ? 1.2e-38 : single ? 2e-6 : 1e-12;
      expect_close(got.data<T>()[i], json_number(expected), single ? 4e-6 : 1e-11, absolute);
    } else {
      EXPECT_EQ(got.data<T>()[i], expected.get<T>());
    }
  }
}

void check_output(const Tensor& got, const Json& expected, bool element_wise) {
  ASSERT_EQ(dtype_name(got.dtype()), expected["dtype"].get<std::string>());
  ASSERT_EQ(got.shape(), Shape(expected["shape"].get<std::vector<int64_t>>()));
  const Json& values = expected["values"];
  switch (got.dtype()) {
    case DType::kFloat: return expect_elements<float>(got, values, element_wise);
    case DType::kDouble: return expect_elements<double>(got, values, element_wise);
    case DType::kInt8: return expect_elements<int8_t>(got, values, element_wise);
    case DType::kInt16: return expect_elements<int16_t>(got, values, element_wise);
    case DType::kInt32: return expect_elements<int32_t>(got, values, element_wise);
    case DType::kInt64: return expect_elements<int64_t>(got, values, element_wise);
    case DType::kUInt8: return expect_elements<uint8_t>(got, values, element_wise);
    case DType::kUInt16: return expect_elements<uint16_t>(got, values, element_wise);
    case DType::kUInt32: return expect_elements<uint32_t>(got, values, element_wise);
    case DType::kUInt64: return expect_elements<uint64_t>(got, values, element_wise);
    case DType::kBool: return expect_elements<bool>(got, values, element_wise);
    case DType::kString: return expect_elements<std::string>(got, values, element_wise);
    default: FAIL() << "no elements of " << dtype_name(got.dtype()) << " are recorded";
  }
}

class OpValues : public ::testing::TestWithParam<std::string> {};

TEST_P(OpValues, AreTensorFlows) {
  const OpDef& def = standard_catalog().get(GetParam());
  for (const Json& golden : read_golden(GetParam())) {
    if (!has_values(golden)) continue;
    std::string text = golden["sample"].get<std::string>();
    for (Isa isa : machine_isas()) {
      SCOPED_TRACE(text + " with instruction set " + std::to_string(int(isa)));
      std::vector<Tensor> outputs = run_sample(def, text, isa);
      ASSERT_EQ(outputs.size(), golden["outputs"].size());
      for (size_t i = 0; i < outputs.size(); ++i) {
        check_output(outputs[i], golden["outputs"][i], def.block != nullptr);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, OpValues, ::testing::ValuesIn(golden_ops()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace capstan
