#include "exec/program.h"

#include <gmock/gmock.h>
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

TEST(Program, AnArgumentThatThePieceDoesNotHaveIsRefused) {
  for (int64_t index : {0, 1, 7}) {
    Graph g(standard_catalog());
    Output stray = g.add("_Arg", {}, {{"T", DType::kFloat}, {"index", index}}, "stray");
    TestPiece test(g, {}, {g.add("Neg", {stray})});
    EXPECT_THAT([&] { run_twice(test); },
                testing::Throws<Error>(testing::Property(
                    &Error::message, testing::HasSubstr("there is none with the index"))));
  }
}

TEST(Program, ADefaultOfAnotherShapeThanItsNodeSaysIsRefusedHoweverItCame) {
  for (Foresight foresight : {Foresight::kGiven, Foresight::kNothing}) {
    Graph g(standard_catalog());
    Output x = g.add("Placeholder", {}, {{"dtype", DType::kFloat}});
    Output d = g.add("PlaceholderWithDefault", {x}, {{"shape", Shape{2, 3}}});
    TestPiece test(g, {{x, Tensor::of<float>({4}, {1, 4, 9, 4})}}, {g.add("Neg", {d})});
    EXPECT_THAT([&] { run_twice(test, {.foresight = foresight}); },
                testing::Throws<Error>(testing::Property(
                    &Error::message,
                    testing::AllOf(testing::HasSubstr("[4]"), testing::HasSubstr("[2,3]")))));
  }
}

TEST(Program, AShuffledSingleRowIsSeenByWhatFollows) {
  Graph g(standard_catalog());
  Output x = floats(g, {1, 3});
  Output shuffled = g.add("RandomShuffle", {x}, {{"seed", int64_t{3}}, {"seed2", int64_t{7}}});
  Output flat = g.add("Reshape", {shuffled, g.constant(Tensor::of<int32_t>({1}, {3}))});
  TestPiece test(g, {{x, Tensor::of<float>({1, 3}, {1, 2, 3})}}, {flat});
  EXPECT_TRUE(run_twice(test)[0].equals(Tensor::of<float>({3}, {1, 2, 3})));
}

// The memory of a computed default must outlive all that it is handed on to.
TEST(Program, ADefaultThatWasComputedStaysWhatItIsUntilItIsFetched) {
  Graph g(standard_catalog());
  Output x = floats(g, {4});
  Output d = g.add("PlaceholderWithDefault", {g.add("Neg", {x})}, {{"shape", Shape{4}}});
  Output later = g.add("Exp", {g.add("Softmax", {d})});
  TestPiece test(g, {{x, Tensor::of<float>({4}, {1, 2, 3, 4})}}, {d, later});
  EXPECT_TRUE(run_twice(test)[0].equals(Tensor::of<float>({4}, {-1, -2, -3, -4})));
}

}  // namespace
}  // namespace capstan
