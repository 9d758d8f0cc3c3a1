// Tasks that only serve, and when they end.

#include <gtest/gtest.h>

#include <thread>

#include "cluster/membership.h"
#include "test_cluster.h"

namespace capstan {
namespace {

ClusterSpec spec() {
  return ClusterSpec::from_json(R"({"ps": ["a:1"], "worker": ["b:1", "b:2"], "chief": ["c:1"]})");
}

TEST(Membership, TheTrainingIsOverWhenAllWhoDoNotOnlyServeHaveLeft) {
  Membership members(spec());
  members.note("/job:worker/task:0", 1, {.serves = true});
  members.note("/job:worker/task:1", 2, {.serves = true});
  members.note("/job:chief/task:0", 3, {.left = true});
  EXPECT_TRUE(members.training_is_over());
}

TEST(Membership, OneWhoHasNotComeYetIsWaitedFor) {
  Membership members(spec());
  members.note("/job:worker/task:0", 1, {.serves = true});
  members.note("/job:chief/task:0", 3, {.left = true});
  EXPECT_FALSE(members.training_is_over());
}

TEST(Membership, WhereAllOnlyServeNothingIsEverOver) {
  Membership members(spec());
  for (const char* task : {"/job:worker/task:0", "/job:worker/task:1", "/job:chief/task:0"})
    members.note(task, 1, {.serves = true});
  EXPECT_FALSE(members.training_is_over());
}

TEST(Membership, ATaskThatWasRestartedHasNotLeft) {
  Membership members(spec());
  members.note("/job:worker/task:0", 1, {.left = true});
  members.note_working("/job:worker/task:0", 1);  // as one who has trained and now serves does
  EXPECT_TRUE(members.of("/job:worker/task:0").left);
  members.note_working("/job:worker/task:0", 2);
  EXPECT_FALSE(members.of("/job:worker/task:0").left);
}

TEST(Serving, TasksThatJoinInAnyOrderEndAfterTheOneThatTrained) {
  TestCluster cluster(1, 3, TransportKind::kAuto);
  std::vector<std::thread> joined;
  joined.emplace_back([&] { cluster.server("worker", 1)->join(); });
  joined.emplace_back([&] { cluster.server("ps", 0)->join(); });
  joined.emplace_back([&] { cluster.server("worker", 2)->join(); });
  cluster.server("worker", 0)->leave();
  for (std::thread& thread : joined) thread.join();
}

TEST(Serving, ATaskThatTrainedAndThenServesHasLeftAndIsToldOfTheOthersEnd) {
  TestCluster cluster(1, 2, TransportKind::kAuto);
  std::vector<std::thread> joined;
  joined.emplace_back([&] { cluster.server("ps", 0)->join(); });
  joined.emplace_back([&] { cluster.server("worker", 0)->join(/*trained=*/true); });
  joined.emplace_back([&] { cluster.server("worker", 1)->join(/*trained=*/true); });
  for (std::thread& thread : joined) thread.join();
}

}  // namespace
}  // namespace capstan
