#include "jobs/script/training_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace capstan::script {
namespace {

TEST(TrainingInfo, KeepsTheFirstAndTheLastStepOfALongRunInBoundedRoom) {
  TrainingInfo info("r", 1000);
  for (int step = 1; step <= 50'000; ++step) info.add({step, 1.0 / step, 0}, step * 0.1, 2);
  Rows rows = info.rows();
  EXPECT_LE(rows.rows.size(), 1001u);
  EXPECT_GE(rows.rows.size(), 400u);
  EXPECT_EQ(rows.rows.front()[1], Cell(int64_t{1}));
  EXPECT_EQ(rows.rows.back()[1], Cell(int64_t{50'000}));
  EXPECT_EQ(rows.rows.back()[4], Cell(1000 + 5000.0));
  EXPECT_NEAR(std::get<double>(rows.rows.back()[3]), 10, 0.5);
}

TEST(TrainingInfo, DoesNotGoBackWithAWorkerThatIsBehind) {
  TrainingInfo info("r", 0);
  info.add({10, 0.5, 0}, 1, 2);
  info.add({9, 0.7, 0}, 2, 2);
  EXPECT_EQ(info.last().step, 10);
  EXPECT_EQ(info.rows().rows.size(), 1u);
}

TEST(TrainingInfo, IsTheSameAfterItsFile) {
  TrainingInfo info("run1", 5);
  info.add({1, std::nullopt, 0}, 0.5, 1);
  info.add({2, 0.25, 0}, 1.0, 1);
  EXPECT_EQ(TrainingInfo::from_json(info.to_json()).rows().rows, info.rows().rows);
}

TEST(TrainingInfo, RefusesADamagedFile) {
  const std::string good = TrainingInfo("r", 0).to_json();
  for (const std::string& bad : {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
                                 std::string(R"({"version":1,"run":1,"started":0,"points":[]})")}) {
    EXPECT_THROW(TrainingInfo::from_json(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace capstan::script
