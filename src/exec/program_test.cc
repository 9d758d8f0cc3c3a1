#include "exec/program.h"

#include <gtest/gtest.h>

#include "exec/test_piece.h"

namespace capstan {
namespace {

// Distinct numbers: a vector whose length is known only when it has run.
Output distinct(Graph& g, Output x) { return g.add_node("Unique", std::array{x}).output(0); }

Output floats(Graph& g, const Shape& shape) {
  return g.add("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", shape}});
}

std::vector<Tensor> run_twice(TestPiece& test, const ProgramOptions& options = {}) {
  auto program = test.program(options);
  Cancellation none;
  program->run(test.inputs, none);
  std::vector<Tensor> copies;
  ProgramResult result = program->run(test.inputs, none);
  for (const Tensor& t : result.outputs) copies.push_back(t.clone());
  return copies;
}

TEST(Program, AFusedChainOfUnknownLengthHasTheTypeOfItsEnd) {
  Graph g(standard_catalog());
  Output x = floats(g, {4});
  Output moved = g.add("AddV2", {distinct(g, x), g.constant(Tensor::of<float>({3}, {1, 1, 1}))});
  Output above = g.add("Greater", {moved, g.constant(Tensor::of<float>({3}, {0, 5, 5}))});
  TestPiece test(g, {{x, Tensor::of<float>({4}, {1, 4, 9, 4})}}, {above});
  Tensor out = run_twice(test)[0];
  EXPECT_TRUE(out.equals(Tensor::of<bool>({3}, {true, false, true})))
      << dtype_name(out.dtype()) << out.shape().text() << out.text();
}

TEST(Program, WhatFollowsAChainOfUnknownLengthSeesItsBytes) {
  Graph g(standard_catalog());
  Output x = floats(g, {4});
  Output sum = g.add("AddV2", {distinct(g, x), g.constant(Tensor::of<float>({3}, {1, 2, 3}))});
  Output column = g.add("Reshape", {sum, g.constant(Tensor::of<int32_t>({2}, {3, 1}))});
  TestPiece test(g, {{x, Tensor::of<float>({4}, {1, 4, 9, 4})}}, {column});
  EXPECT_TRUE(run_twice(test)[0].equals(Tensor::of<float>({3, 1}, {2, 6, 12})));
}

}  // namespace
}  // namespace capstan
