#include "capstan/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/catalog.h"
#include "session/session.h"

namespace capstan {
namespace {

Output vector(Graph& g, std::initializer_list<float> values) {
  return g.constant(Tensor::of<float>({int64_t(values.size())}, values));
}

std::string text(Graph& g, Output value) { return Session(g).run({}, {value})[0].text(); }

TEST(OpsHeader, HasAFunctionForEveryRowThatProgramsMayUse) {
  const auto rows = standard_catalog().all();
  const auto own =
      std::ranges::count_if(rows, [](auto* row) { return row->name.starts_with('_'); });
  EXPECT_EQ(ops::kFunctions, int64_t(rows.size()) - own);
}

TEST(OpsHeader, AttrsHaveTheDefaultsOfTheirRows) {
  Graph g(standard_catalog());
  Output axis = g.constant(Tensor::scalar(int32_t(0)));
  EXPECT_EQ(text(g, ops::cumsum(vector(g, {1, 2, 3}), axis)), "[1 3 6]");
  EXPECT_EQ(text(g, ops::cumsum(vector(g, {1, 2, 3}), axis, /*exclusive=*/true)), "[0 1 3]");
}

TEST(OpsHeader, ListsOfInputsAndOfOutputsAreLists) {
  Graph g(standard_catalog());
  const std::vector<Output> parts = {vector(g, {1, 2}), vector(g, {3, 4})};
  Output packed = ops::pack(parts);
  EXPECT_EQ(packed.shape(), (Shape{2, 2}));
  EXPECT_EQ(text(g, ops::unpack(packed, 2)[1]), "[3 4]");
  EXPECT_THROW(ops::pack({}), Error);
}

TEST(OpsHeader, WhatHasNoInputsTakesAGraphFirst) {
  Graph g(standard_catalog());
  Output x = ops::placeholder(g, DType::kFloat, Shape{2}, "x");
  EXPECT_EQ(x.name() + " " + fmt::format("{}", x.shape()), "x:0 [2]");
  EXPECT_EQ(ops::no_op(g, "nothing").name(), "nothing");
}

}  // namespace
}  // namespace capstan
