#include "jobs/step_rate.h"

#include <gtest/gtest.h>

namespace capstan::jobs {
namespace {

TEST(StepRate, IsTheSlopeOfTheLastSeconds) {
  StepRate rate;
  EXPECT_EQ(rate.per_second(0), 0);
  rate.add(0, 0);
  rate.add(10, 100);
  EXPECT_EQ(rate.per_second(10), 10);
  rate.add(12, 300);
  EXPECT_EQ(rate.per_second(12), 100);
}

TEST(StepRate, IsNothingOnceNothingComes) {
  StepRate rate;
  for (int i = 0; i <= 10; ++i) rate.add(i, i * 100);
  EXPECT_EQ(rate.per_second(14), 100);
  EXPECT_EQ(rate.per_second(16), 0);
}

TEST(StepRate, OfSlowStepsLastsUntilTheNext) {
  StepRate rate;
  rate.add(0, 0);
  rate.add(20, 1);
  EXPECT_EQ(rate.per_second(50), 0.05);
  EXPECT_EQ(rate.per_second(90), 0);
}

TEST(StepRate, BeginsAnewAfterARestore) {
  StepRate rate;
  rate.add(0, 0);
  rate.add(1, 500);
  rate.add(2, 400);
  EXPECT_EQ(rate.per_second(2), 0);
  rate.add(3, 450);
  EXPECT_EQ(rate.per_second(3), 50);
}

TEST(StepRates, AreThoseOfTasksAndTheFastest) {
  StepRates rates;
  for (int i = 0; i < 3; ++i) {
    rates.add({"worker", 0}, i, i * 10);
    rates.add({"worker", 1}, i, i * 4);
  }
  EXPECT_EQ(rates.of({"worker", 1}, 2), 4);
  EXPECT_EQ(rates.of({"ps", 0}, 2), 0);
  EXPECT_EQ(rates.fastest(2), 10);
}

}  // namespace
}  // namespace capstan::jobs
