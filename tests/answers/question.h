#pragma once

// A step that has one answer, however it is run: a graph, what is fed, what is fetched, and the
// values that its nodes give one by one.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "ops/catalog.h"
#include "ops/test_interpreter.h"

namespace capstan {

// How a value comes into the graph.
enum class Origin : uint8_t {
  kConstant,  // may be folded
  kFed,
  kFedUndeclared,  // by a placeholder that says nothing of its shape
  kComputed,       // of a kernel, into memory that was laid out
  kVariable,       // read of a variable
};
constexpr Origin kOrigins[] = {Origin::kConstant, Origin::kFed, Origin::kFedUndeclared,
                               Origin::kComputed, Origin::kVariable};

// Nodes that a value may pass and stay what it is.
enum class Detour : uint8_t {
  kNone,
  kIdentity,
  kReshape,          // flat and back, by constants
  kComputedReshape,  // by a shape that is known only when the step runs
  kExpandDims,       // and Squeeze
  kPrint,
  kDefault,  // placeholder_with_default of the value's shape
  kAnyDefault,
};
constexpr Detour kDetours[] = {
    Detour::kNone,       Detour::kIdentity, Detour::kReshape, Detour::kComputedReshape,
    Detour::kExpandDims, Detour::kPrint,    Detour::kDefault, Detour::kAnyDefault};

class Question {
 public:
  Output add(const Tensor& value, Origin origin);
  // The reference of a variable of this value.
  Output add_variable(const Tensor& value);
  Output detour(Output value, Detour way);
  Output add(std::string_view op, std::initializer_list<Output> inputs, AttrMap attrs = {}) {
    return graph.add(op, inputs, std::move(attrs));
  }
  Output shape_constant(std::span<const int64_t> dims);

  std::vector<Tensor> answer();
  // Where `values` are not the answer, bit by bit; "" when they are.
  std::string difference(std::span<const Tensor> values);

  Graph graph{standard_catalog()};
  Interpreter interpreter;
  std::vector<std::pair<Output, Tensor>> feeds;
  std::vector<std::pair<Output, Tensor>> variables;  // by their references
  std::vector<Output> fetches;

 private:
  Output add_fed(const Tensor& value, const Shape& declared);
};

}  // namespace capstan
