#include "jobs/watched_job.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/temporary_folder.h"
#include "jobs/fake_platform.h"

namespace capstan::jobs {
namespace {

class Watched : public testing::Test {
 protected:
  Watched() : platform_(loop_), shelf_(posix_files(), folder_.path()), alive_(shelf_.create("aa")) {
    spec_ = {.groups = {{"worker", 1}}, .program = {.path = "train.py"}};
    job_ = std::make_unique<WatchedJob>(&shelf_, new_record(spec_, "aa"), spec_, Cluster(),
                                        platform_, loop_, notes_);
    job_->start();
  }

  TemporaryFolder folder_;
  FakeLoop loop_;
  FakePlatform platform_;
  Notes notes_;
  JobSpec spec_;
  JobShelf shelf_;
  Fd alive_;
  std::unique_ptr<WatchedJob> job_;
};

TEST_F(Watched, IsStoppedByWhoeverAsksOnTheShelf) {
  loop_.advance(1);
  EXPECT_FALSE(job_->done());
  shelf_.ask_to_stop("aa");
  loop_.advance(1);
  EXPECT_TRUE(job_->done());
  EXPECT_EQ(job_->controller().report().reason, "stopped by capstan stop");
}

// A link to itself is a folder that cannot be looked at, for root too.
TEST_F(Watched, GoesOnWhenItsFolderCannotBeLookedAtAndSaysSoOnce) {
  const std::string away = folder_.path() + "/away";
  std::filesystem::rename(shelf_.folder("aa"), away);
  std::filesystem::create_symlink("aa", shelf_.folder("aa"));
  loop_.advance(1);
  EXPECT_FALSE(job_->done());
  EXPECT_EQ(std::ranges::count_if(
                notes_.all, [](const auto& note) { return note.starts_with("capstan stop"); }),
            1);
  std::filesystem::remove(shelf_.folder("aa"));
  std::filesystem::rename(away, shelf_.folder("aa"));
  shelf_.ask_to_stop("aa");
  loop_.advance(1);
  EXPECT_TRUE(job_->done());
}

}  // namespace
}  // namespace capstan::jobs
