#include "train/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;

constexpr double kHour = 3600;

class RetentionTest : public ::testing::Test {
 protected:
  void write(Retention& retention, const std::string& prefix, double now) {
    files_.put(prefix + ".index", "");
    EXPECT_EQ(retention.written(files_, prefix, now), "");
  }
  std::vector<std::string> named() {
    return read_checkpoint_state(files_, "/m")->all_model_checkpoint_paths;
  }
  bool there(const std::string& prefix) { return files_.exists(prefix + ".index"); }

  MemoryFiles files_;
};

TEST_F(RetentionTest, KeepsTheNewestFew) {
  Retention retention({.max_to_keep = 2}, 0);
  for (const char* prefix : {"/m/a-1", "/m/a-2", "/m/a-3"}) write(retention, prefix, 1);
  EXPECT_THAT(named(), ElementsAre("/m/a-2", "/m/a-3"));
  EXPECT_FALSE(there("/m/a-1"));
  EXPECT_TRUE(there("/m/a-2"));
}

TEST_F(RetentionTest, KeepsOneInSoManyHoursForGood) {
  Retention retention({.max_to_keep = 1, .keep_every_n_hours = 1}, 0);
  write(retention, "/m/a-1", 0.5 * kHour);
  write(retention, "/m/a-2", 1.5 * kHour);
  write(retention, "/m/a-3", 1.6 * kHour);
  write(retention, "/m/a-4", 1.7 * kHour);
  EXPECT_FALSE(there("/m/a-1"));
  EXPECT_TRUE(there("/m/a-2"));
  EXPECT_FALSE(there("/m/a-3"));
  EXPECT_THAT(named(), ElementsAre("/m/a-4"));
}

TEST_F(RetentionTest, KeepsAllWhereNoNumberIsGivenAndNamesTheNewest) {
  Retention retention({.max_to_keep = 0}, 0);
  for (const char* prefix : {"/m/a-1", "/m/a-2"}) write(retention, prefix, 1);
  EXPECT_THAT(named(), ElementsAre("/m/a-2"));
  EXPECT_TRUE(there("/m/a-1"));
}

TEST_F(RetentionTest, TakesOverTheCareForThoseOfAnEarlierRun) {
  files_.put("/m/a-1.index", "");
  Retention retention({.max_to_keep = 1}, 0);
  retention.take_over({{"/m/a-1", 1}});
  write(retention, "/m/a-2", 2);
  EXPECT_FALSE(there("/m/a-1"));
}

TEST_F(RetentionTest, CountsACheckpointThatIsWrittenAgainOnce) {
  Retention retention({.max_to_keep = 2}, 0);
  for (const char* prefix : {"/m/a", "/m/b", "/m/a"}) write(retention, prefix, 1);
  EXPECT_THAT(named(), ElementsAre("/m/b", "/m/a"));
}

}  // namespace
}  // namespace capstan
