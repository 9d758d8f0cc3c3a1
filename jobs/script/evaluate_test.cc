#include "jobs/script/evaluate.h"

#include <cmath>

#include "jobs/duck/test_engine.h"
#include "jobs/script/test_call.h"

namespace capstan::script {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Evaluation : public duck::DuckTest {
 protected:
  // Rows of (y, p), as SQL values.
  void table(const std::string& values) {
    engine->select("select * from (values " + values + ") as v(y, p)", "t");
  }

  std::map<std::string, double> figures(KeyValues options = {}) {
    call_ = std::make_unique<TestCall>(*engine);
    options.emplace_back("label", "y");
    options.emplace_back("prediction", "p");
    call_->run(kEvaluate.train, kEvaluate.train_options, "t", "", "m", options);
    std::map<std::string, double> out;
    for (const auto& row : engine->rows("m", -1).rows)
      out[std::get<std::string>(row[0])] = std::get<double>(row[1]);
    return out;
  }
  std::string refused(KeyValues options = {}) {
    return duck::thrown([&] { figures(std::move(options)); });
  }

  std::unique_ptr<TestCall> call_;
};

TEST_F(Evaluation, ProbabilitiesOfOneGiveAllFigures) {
  table("(1, 0.9), (0, 0.2), (1, 0.4), (0, 0.6)");
  auto m = figures();
  EXPECT_DOUBLE_EQ(m.at("accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(m.at("auc"), 0.75);
  EXPECT_NEAR(m.at("logLoss"), -(std::log(0.9) + std::log(0.8) + std::log(0.4) + std::log(0.4)) / 4,
              1e-12);
  EXPECT_NEAR(m.at("rmse"), std::sqrt((0.01 + 0.04 + 0.36 + 0.36) / 4), 1e-12);
  EXPECT_EQ(m.size(), 4u);
}

TEST_F(Evaluation, TiesCountAsHalf) {
  table("(1, 0.5), (0, 0.5), (1, 0.5), (0, 0.1), (0, 0.9)");
  // Of six pairs: 0.1 below both, 0.5 tied with both, 0.9 above both.
  EXPECT_DOUBLE_EQ(figures({{"metric", "auc"}}).at("auc"), (2 + 1.0) / 6);
}

TEST_F(Evaluation, TheAreaIsThatOfAllPairs) {
  engine->select(
      "select cast((i * 7919) % 3 = 0 as int) as y, cast((i * 104729) % 97 as double) / 97 as p "
      "from range(2000) as r(i)",
      "t");
  const double pairs = std::get<double>(
      engine
          ->query(
              "select avg(case when a.p > b.p then 1.0 when a.p = b.p then 0.5 else 0.0 end) from "
              "t as a, t as b where a.y = 1 and b.y = 0",
              1)
          .rows[0][0]);
  EXPECT_NEAR(figures({{"metric", "auc"}}).at("auc"), pairs, 1e-12);
}

TEST_F(Evaluation, AProbabilityOfZeroIsClipped) {
  table("(1, 0.0), (0, 1.0), (1, 1.0)");
  EXPECT_NEAR(figures({{"metric", "logLoss"}}).at("logLoss"), -2 * std::log(1e-15) / 3, 0.1);
}

TEST_F(Evaluation, ClassesAreComparedAsTheyAre) {
  table("(0, 0), (1, 2), (2, 2), (3, 3)");
  auto m = figures();
  EXPECT_DOUBLE_EQ(m.at("accuracy"), 0.75);
  EXPECT_FALSE(m.contains("auc"));
  EXPECT_FALSE(m.contains("logLoss"));
}

TEST_F(Evaluation, AListHasAScorePerClass) {
  table("(0, [0.7, 0.2, 0.1]), (1, [0.5, 0.3, 0.2]), (2, [0.1, 0.1, 0.8])");
  auto m = figures();
  EXPECT_DOUBLE_EQ(m.at("accuracy"), 2.0 / 3);
  EXPECT_NEAR(m.at("logLoss"), -(std::log(0.7) + std::log(0.3) + std::log(0.8)) / 3, 1e-9);
  EXPECT_EQ(m.size(), 2u);
}

TEST_F(Evaluation, TwoScoresAreOrderedByThatOfClassOne) {
  table("(0, [0.7, 0.3]), (1, [0.6, 0.4]), (1, [0.8, 0.2])");
  EXPECT_DOUBLE_EQ(figures().at("auc"), 0.5);
}

TEST_F(Evaluation, ScoresThatAreNoProbabilitiesHaveNoLogLoss) {
  table("(0, [4.0, -1.0]), (1, [0.5, 3.0])");
  EXPECT_FALSE(figures().contains("logLoss"));
  EXPECT_THAT(refused({{"metric", "logLoss"}}), HasSubstr("logLoss needs probabilities"));
}

TEST_F(Evaluation, NumbersHaveAnErrorOnly) {
  table("(1.5, 1.0), (-2.5, -2.5)");
  auto m = figures();
  EXPECT_EQ(m.size(), 1u);
  EXPECT_NEAR(m.at("rmse"), std::sqrt(0.125), 1e-12);
  EXPECT_THAT(refused({{"metric", "accuracy"}}),
              AllOf(HasSubstr("accuracy needs labels"), HasSubstr("job.mlsql:1:1")));
}

TEST_F(Evaluation, TheThresholdMayBeMoved) {
  table("(1, 0.4), (0, 0.2)");
  EXPECT_DOUBLE_EQ(figures({{"threshold", "0.3"}}).at("accuracy"), 1);
  EXPECT_DOUBLE_EQ(figures().at("accuracy"), 0.5);
}

TEST_F(Evaluation, RowsWithoutLabelOrPredictionAreLeftOutAndTold) {
  table("(1, 0.9), (null, 0.2), (0, null), (0, 0.1)");
  EXPECT_DOUBLE_EQ(figures().at("accuracy"), 1);
  EXPECT_THAT(call_->notes(), HasSubstr("2 of 4 rows"));
}

TEST_F(Evaluation, ListsThatLackAScoreAreLeftOutAndTold) {
  table("(0, [0.7, 0.3]), (1, [0.4, 0.6]), (1, [null, 0.5]), (0, null)");
  EXPECT_DOUBLE_EQ(figures().at("accuracy"), 1);
  EXPECT_THAT(call_->notes(), HasSubstr("2 of 4 rows"));
}

TEST_F(Evaluation, WhatHasNoFigureIsRefusedWithTheReason) {
  table("(1, 0.9), (1, 0.2)");
  EXPECT_FALSE(figures().contains("auc"));
  EXPECT_THAT(refused({{"metric", "auc"}}), HasSubstr("auc needs labels that are 0 and 1"));
  table("(1, cast('nan' as double)), (0, 0.2)");
  EXPECT_THAT(refused(), HasSubstr("not a number"));
  table("(0, [0.5, 0.5]), (1, []::double[])");
  EXPECT_THAT(refused(), HasSubstr("p has 0 numbers where 2 are expected"));
  table("(5, [0.5, 0.5])");
  EXPECT_THAT(refused(), HasSubstr("the label 5 has no score"));
  engine->select("select 1 as y, 1 as q where false", "t");
  EXPECT_THAT(refused(), AllOf(HasSubstr("NotFound"), HasSubstr("no column 'p'")));
  engine->select("select 1 as y, 1 as p where false", "t");
  EXPECT_THAT(refused(), HasSubstr("no row has both"));
}

TEST_F(Evaluation, NothingIsLeftButTheAnswer) {
  table("(0, [0.7, 0.3]), (1, [0.6, 0.4])");
  figures();
  EXPECT_THAT(engine->tables(), testing::UnorderedElementsAre("t", "m"));
}

}  // namespace
}  // namespace capstan::script
