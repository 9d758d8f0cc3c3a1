// What composites refuse, with words that help. Their nodes and values are held against
// TensorFlow's in python/tests.

#include <gtest/gtest.h>

#include "build/composites.h"
#include "build/moving_average.h"
#include "build/operators.h"
#include "build/random.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

std::string message(const std::function<void()>& build) {
  try {
    build();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was refused";
}

class Composites : public ::testing::Test {
 protected:
  Graph g{standard_catalog()};
  Output x = placeholder(g, DType::kFloat, {4, 3}, "x");
  Output any = placeholder(g, DType::kFloat, Shape::unknown(), "any");
};

TEST_F(Composites, NamesAreTakenFromScopesAndMadeUnique) {
  auto scope = g.name_scope("model");
  EXPECT_EQ(l2_normalize(x, {{1}}).name(), "model/l2_normalize:0");
  EXPECT_EQ(l2_normalize(x, {{1}}).name(), "model/l2_normalize_1:0");
  EXPECT_TRUE(g.find("model/l2_normalize/Sum/reduction_indices"));
}

TEST_F(Composites, NumbersBecomeConstantsNamedAfterTheirSide) {
  EXPECT_EQ((1.0 - x).name(), "sub:0");
  EXPECT_EQ((x - 1.0).name(), "sub_1:0");
  EXPECT_TRUE(g.find("sub/x"));
  EXPECT_TRUE(g.find("sub_1/y"));
}

TEST_F(Composites, ShapesAreConstantsWhereTheyAreKnown) {
  EXPECT_EQ(shape_of(x).node->op(), "Const");
  EXPECT_EQ(shape_of(any).node->op(), "Shape");
  EXPECT_EQ(rank_of(any).node->op(), "Rank");
  EXPECT_EQ(size_of(x).node->op(), "Const");
}

TEST_F(Composites, FormulasMoveAndCompare) {
  Output parts[] = {x, x};
  EXPECT_EQ(concat(parts, 1).shape(), (Shape{4, 6}));
  EXPECT_EQ(transpose(x, {1, 0}).shape(), (Shape{3, 4}));
  EXPECT_EQ(gather(x, g.constant(int_vector({0, 2}))).shape(), (Shape{2, 3}));
  EXPECT_EQ(greater(maximum(x, 0.0), 1.0).dtype(), DType::kBool);
  EXPECT_EQ(pow(sqrt(abs(x)), 2.0).name(), "Pow:0");
}

TEST_F(Composites, AReductionOverAllAxesIsAScalarWhateverTheRank) {
  EXPECT_EQ(reduce_sum(any).shape(), Shape({}));
  EXPECT_EQ(reduce_sum(x, {{0}}).shape(), Shape({3}));
}

TEST_F(Composites, WeightsThatDoNotFitAreRefused) {
  Output weights = placeholder(g, DType::kFloat, {4, 2}, "weights");
  EXPECT_EQ(message([&] { weighted_loss(x, weights); }),
            "weights of shape [4,2] do not fit losses of shape [4,3]: give a number, or weights of "
            "the same rank whose dimensions are 1 or the losses'");
}

TEST_F(Composites, ADropoutRateLiesBelowOne) {
  EXPECT_EQ(message([&] { dropout(x, 1.0); }), "a dropout rate lies within [0, 1), not at 1");
  EXPECT_EQ(dropout(x, 0.0), x);
}

TEST_F(Composites, AModeOrDistributionThatDoesNotExistIsNamed) {
  VarianceScaling mode{1, "fan", "uniform"}, distribution{1, "fan_in", "poisson"};
  EXPECT_EQ(message([&] {
              variance_scaling(g, {2, 2}, DType::kFloat, mode);
            }),
            "the mode 'fan' is none of fan_in, fan_out, fan_avg");
  EXPECT_EQ(message([&] {
              variance_scaling(g, {2, 2}, DType::kFloat, distribution);
            }),
            "the distribution 'poisson' is none of normal, truncated_normal, untruncated_normal, "
            "uniform");
}

TEST_F(Composites, SoftmaxAlongAnAxisThatIsNotThereIsRefused) {
  EXPECT_EQ(message([&] { softmax_along("Softmax", x, 2); }),
            "Softmax along axis 2: 'x:0' has 2 axes");
  EXPECT_EQ(message([&] { softmax_along("Softmax", any, -2); }),
            "Softmax along axis -2 needs the rank of 'any:0', which is unknown");
}

TEST_F(Composites, PiecesOfARateAreOneMoreThanTheirBoundaries) {
  Output step = placeholder(g, DType::kFloat, {}, "step");
  Output rates[] = {step, step};
  EXPECT_EQ(message([&] { piecewise_constant(step, {}, rates); }),
            "0 boundaries part 1 values, not 2");
}

TEST_F(Composites, AnAverageLivesWithItsVariable) {
  VariableRef v = make_variable(g, Tensor::scalar(1.0f), {.name = "v"});
  MovingAverages made = moving_averages(g, std::span(&v, 1), 0.9);
  EXPECT_EQ(made.averages[0].name(), "v/ExponentialMovingAverage");
  EXPECT_EQ(made.update->name(), "ExponentialMovingAverage");
  EXPECT_EQ(g.find("ExponentialMovingAverage/AssignMovingAvg")->op(), "AssignSub");
}

}  // namespace
}  // namespace capstan
