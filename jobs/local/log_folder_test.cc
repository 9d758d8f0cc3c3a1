#include "jobs/local/log_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/temporary_folder.h"

namespace capstan::jobs {
namespace {

class LogFolders : public testing::Test {
 protected:
  LogFolders() { setenv("CAPSTAN_STATE_DIR", folder_.path().c_str(), 1); }
  ~LogFolders() override { unsetenv("CAPSTAN_STATE_DIR"); }

  TemporaryFolder folder_;
};

TEST_F(LogFolders, OfTwoJobsOfOneProcessAreTwo) {
  LogFolder first("", "aa11"), second("", "bb22");
  EXPECT_NE(first.path(), second.path());
}

TEST_F(LogFolders, StayWhileTheirJobsRunHoweverManyAreKept) {
  LogFolder running("", "0running");
  for (int i = 0; i < 15; ++i) LogFolder("", fmt::format("kept{}", i)).keep();
  EXPECT_TRUE(posix_files().exists(running.path()));
  EXPECT_EQ(posix_files().list(folder_.file("runs")).size(), 11u);
}

TEST_F(LogFolders, BelongToOneJobAtATime) {
  const std::string wanted = folder_.file("logs");
  {
    LogFolder first(wanted, "aa11");
    EXPECT_THROW(LogFolder(wanted, "bb22"), Error);
  }
  EXPECT_NO_THROW(LogFolder(wanted, "bb22"));
  EXPECT_TRUE(posix_files().exists(wanted));
}

}  // namespace
}  // namespace capstan::jobs
