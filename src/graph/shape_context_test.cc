#include "graph/shape_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/test_rows.h"
#include "ops/catalog.h"

namespace capstan::testing {
namespace {

using ::testing::HasSubstr;

Output ints(Graph& g, std::initializer_list<int32_t> values) {
  return g.constant(Tensor::of<int32_t>({int64_t(values.size())}, values));
}
Output number(Graph& g, int32_t value) { return g.constant(Tensor::scalar(value)); }

// shape[at], as programs write it.
Output element(Graph& g, Output shape, int32_t at) {
  return g.add("StridedSlice", {shape, ints(g, {at}), ints(g, {at + 1}), ints(g, {1})},
               {{"shrink_axis_mask", int64_t(1)}});
}

TEST(ConstantValue, SeesThroughShapePackCastAndIdentity) {
  Graph g(standard_catalog());
  Output shape = g.add("Shape", {placeholder(g, {2, 3})});
  EXPECT_TRUE(constant_value(g.add("Identity", {shape}))->equals(Tensor::of<int32_t>({2}, {2, 3})));
  Output packed = g.add("Pack", {number(g, 4), number(g, 5)});
  Output cast = g.add("Cast", {packed}, {{"DstT", DType::kFloat}});
  EXPECT_TRUE(constant_value(cast)->equals(Tensor::of<float>({2}, {4, 5})));
  Output filled = g.add("Fill", {packed, number(g, 9)});
  EXPECT_EQ(constant_value(filled)->shape(), (Shape{4, 5}));
  EXPECT_FALSE(constant_value(g.add("Shape", {placeholder(g, {-1})})));
  EXPECT_FALSE(constant_value(placeholder(g, {2})));
}

TEST(ConstantValue, LeavesToShapesWhatPythonDoesNotSeeThrough) {
  Graph g(standard_catalog());
  Output rows = element(g, g.add("Shape", {placeholder(g, {2, 3})}), 0);
  EXPECT_FALSE(constant_value(rows));
  EXPECT_TRUE(constant_for_shape(rows)->equals(Tensor::scalar(int32_t(2))));
  Output product = g.add("Mul", {rows, number(g, 7)});
  EXPECT_TRUE(constant_for_shape(product)->equals(Tensor::scalar(int32_t(14))));
}

TEST(ConstantValue, GivesUpOnGraphsThatAreDeepOrLarge) {
  Graph g(standard_catalog());
  Output deep = number(g, 1);
  for (int i = 0; i < 20000; ++i) deep = g.add("Identity", {deep});
  EXPECT_FALSE(constant_value(deep));
  Output wide = ints(g, {});
  for (int i = 0; i < 40; ++i) wide = g.add("AddV2", {wide, wide});
  EXPECT_FALSE(constant_for_shape(wide));
  EXPECT_FALSE(constant_value(g.add("Fill", {ints(g, {1 << 20, 1 << 10}), number(g, 1)})));
}

TEST(PartialShape, KeepsTheDimensionsThatAreKnown) {
  Graph g(standard_catalog());
  Output shape = g.add("Shape", {placeholder(g, {-1, 28, 28})});
  Output batch = element(g, shape, 0);
  Output packed = g.add("Pack", {batch, number(g, 784)});
  EXPECT_EQ(g.add("Reshape", {placeholder(g, {-1, 28, 28}), packed}).shape(), (Shape{-1, 784}));
  EXPECT_EQ(g.add("Fill", {shape, number(g, 0)}).shape(), (Shape{-1, 28, 28}));
  EXPECT_TRUE(constant_for_shape(element(g, shape, 1))->equals(Tensor::scalar(int32_t(28))));
}

TEST(PartialShape, RefusesBadDimensionsWithTheNodesName) {
  Graph g(standard_catalog());
  Output x = placeholder(g, {2});
  EXPECT_THAT(error_of([&] {
                g.add("Reshape", {x, ints(g, {-5})}, {}, "r");
              }),
              HasSubstr("Reshape 'r': a shape cannot"));
  // A long vector is no shape, but taking an element of it is no error.
  Output many = ints(g, {-9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_TRUE(constant_for_shape(element(g, many, 0))->equals(Tensor::scalar(int32_t(-9))));
}

}  // namespace
}  // namespace capstan::testing
