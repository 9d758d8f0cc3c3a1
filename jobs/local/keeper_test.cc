#include "jobs/local/keeper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/temporary_folder.h"
#include "jobs/scratch_folder.h"

namespace capstan::jobs {
namespace {

namespace fs = std::filesystem;

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// In a process of its own, which kills itself.
void run_apart(const std::function<void(Keeper&)>& work) {
  const int pid = fork();
  if (pid == 0) {
    Keeper keeper("CAPSTAN_TEST=none", [] {});
    work(keeper);
    _exit(1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(Keeper, RemovesTheFoldersOfAProcessThatIsKilled) {
  const TemporaryFolder folder;
  run_apart([&](Keeper& keeper) {
    const ScratchFolder one(folder.path(), "a-", "1", &keeper);
    ScratchFolder other(folder.path(), "b-", "2", &keeper);
    folder.put("a-1/deep/file", "x");
    other.release();
    kill(getpid(), SIGKILL);
  });
  EXPECT_TRUE(eventually([&] { return !fs::exists(folder.file("a-1")); }));
  EXPECT_TRUE(fs::exists(folder.file("b-2")));
}

TEST(Keeper, LeavesTheFoldersOfAProcessThatEndsInOrder) {
  const TemporaryFolder folder;
  {
    Keeper keeper("CAPSTAN_TEST=none", [] {});
    keeper.keep(folder.path());
  }
  EXPECT_TRUE(fs::exists(folder.path()));
}

TEST(ScratchFolder, OfTheDeadGoesWithTheNextAndThoseOfTheLivingStay) {
  const TemporaryFolder folder;
  folder.put("a-dead/file", "x");
  folder.put("b-other/file", "x");
  const ScratchFolder living(folder.path(), "a-", "living", nullptr);
  const ScratchFolder next(folder.path(), "a-", "next", nullptr);
  EXPECT_FALSE(fs::exists(folder.file("a-dead")));
  EXPECT_TRUE(fs::exists(living.path()));
  EXPECT_TRUE(fs::exists(folder.file("b-other")));
}

}  // namespace
}  // namespace capstan::jobs
