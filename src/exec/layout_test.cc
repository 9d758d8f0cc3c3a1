#include "exec/layout.h"

#include <gtest/gtest.h>

#include "exec/test_piece.h"

namespace capstan {
namespace {

Output placeholder(Graph& g, const Shape& shape) {
  return g.add("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", shape}});
}

Tensor zeros(const Shape& shape) {
  Tensor t(DType::kFloat, shape);
  std::fill_n(t.data<float>(), t.size(), 0.0f);
  return t;
}

// A value of 64 bytes that dies, and right above it a large one of which an element-wise action is
// the last user: what it leaves and the hole below it join.
struct HoleBelowAnOperand {
  static constexpr int64_t kLarge = 200'000;
  HoleBelowAnOperand() {
    small = placeholder(g, {2, 8});
    large = placeholder(g, {2, kLarge / 2});
    Output below = g.add("Softmax", {small}, {}, "below");
    Output swapped = g.constant(Tensor::of<int32_t>({2}, {1, 0}));
    Output operand = g.add("Transpose", {large, swapped}, {}, "operand");
    Output kept = g.add("Softmax", {below}, {}, "kept");
    result = g.add("Neg", {operand}, {}, "result");
    fetches = {kept, result};
  }
  Graph g{standard_catalog()};
  Output small, large, result;
  std::vector<Output> fetches;
};

TEST(Layout, AStepInPlaceHasTheVeryPlaceOfItsOperand) {
  HoleBelowAnOperand graph;
  TestPiece test(graph.g, {{graph.small, zeros({2, 8})}, {graph.large, zeros(graph.large.shape())}},
                 graph.fetches);
  auto layout = test.layout();
  const Value& operand = TestPiece::value(*layout, test.piece, "operand");
  const Value& result = TestPiece::value(*layout, test.piece, "result");
  EXPECT_GT(operand.offset, 0u);
  EXPECT_EQ(operand.offset, result.offset);
}

TEST(Program, AStepInPlaceSeesAllOfItsOperandOnSeveralThreads) {
  HoleBelowAnOperand graph;
  Tensor values(DType::kFloat, graph.large.shape());
  for (int64_t i = 0; i < values.size(); ++i) values.data<float>()[i] = float(i);
  TestPiece test(graph.g, {{graph.small, zeros({2, 8})}, {graph.large, values}}, {graph.fetches},
                 2);
  auto program = test.program();
  Cancellation none;
  for (int run = 0; run < 20; ++run) {
    ProgramResult result = program->run(test.inputs, none);
    const Tensor& out = result.outputs.at(1);
    for (int64_t i = 0; i < out.size(); ++i) {
      const int64_t from = i % 2 * (HoleBelowAnOperand::kLarge / 2) + i / 2;
      ASSERT_EQ(out.data<float>()[i], -float(from)) << "element " << i << " in run " << run;
    }
  }
}

// --- What a row hands on -------------------------------------------------------------------------

TEST(Layout, WhatARowHandsOnHasNoPlaceOfItsOwn) {
  Graph g(standard_catalog());
  Output x = placeholder(g, {4});
  Output computed = g.add("Softmax", {g.add("Neg", {x})}, {}, "computed");
  Output printed = g.add("Print", {computed, computed}, {{"first_n", int64_t{0}}}, "printed");
  Output fetched = g.add("Identity", {printed}, {}, "fetched");
  TestPiece test(g, {{x, zeros({4})}}, {fetched});
  auto layout = test.layout();
  EXPECT_EQ(TestPiece::value(*layout, test.piece, "printed").storage, Storage::kDynamic);
  EXPECT_EQ(TestPiece::value(*layout, test.piece, "fetched").storage, Storage::kDynamic);
  EXPECT_TRUE(TestPiece::value(*layout, test.piece, "computed").aliased_output);
}

TEST(Layout, ADefaultIsKnownAsWellAsItsInput) {
  Graph g(standard_catalog());
  Output x = placeholder(g, {4});
  Output any = g.add("PlaceholderWithDefault", {x}, {{"shape", Shape::unknown()}}, "any");
  Output sum = g.add("Neg", {any}, {}, "sum");
  TestPiece test(g, {{x, zeros({4})}}, {sum});
  auto layout = test.layout();
  EXPECT_EQ(TestPiece::value(*layout, test.piece, "sum").storage, Storage::kArena);
}

// Both users look at the variable's own bytes: they are to see the same.
TEST(Layout, AReadThatSeveralStepsSeeThroughAReshapeIsBorrowed) {
  Graph g(standard_catalog());
  Output v = g.add("VariableV2", {}, {{"shape", Shape{4}}, {"dtype", DType::kFloat}}, "v");
  Output shape = g.constant(Tensor::of<int32_t>({2}, {2, 2}));
  Output square = g.add("Reshape", {g.add("Identity", {v}), shape});
  TestPiece test(g, {}, {g.add("Softmax", {square}), g.add("LogSoftmax", {square})});
  auto layout = test.layout();
  EXPECT_EQ(layout->actions.at(0).kind, Action::Kind::kSharedRead);
}

}  // namespace
}  // namespace capstan
