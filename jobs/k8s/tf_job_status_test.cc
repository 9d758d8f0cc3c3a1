#include "jobs/k8s/tf_job_status.h"

#include <gmock/gmock.h>

#include "jobs/k8s/kube_time.h"
#include "jobs/k8s/test_jobs.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::vector<std::string> shown(const TfJobStatus& status) {
  std::vector<std::string> out;
  for (const Condition& one : status.conditions) {
    out.push_back((one.is ? "" : "not ") + one.type + " " + one.reason);
  }
  return out;
}

ReplicaStatus counts(ReplicaType type, int active, int succeeded, int failed) {
  ReplicaStatus one{.type = type};
  one.active = active;
  one.succeeded = succeeded;
  one.failed = failed;
  return one;
}

TEST(Conditions, FollowAJobToItsGoodEnd) {
  TfJobStatus status;
  EXPECT_TRUE(enter(status, JobPhase::kCreated, "m", 100));
  EXPECT_TRUE(enter(status, JobPhase::kRunning, "m", 101));
  EXPECT_TRUE(enter(status, JobPhase::kSucceeded, "m", 102));
  EXPECT_THAT(shown(status), ElementsAre("Created TFJobCreated", "not Running TFJobRunning",
                                         "Succeeded TFJobSucceeded"));
  EXPECT_EQ(status.completed, "1970-01-01T00:01:42Z");
  EXPECT_EQ(status.state(), "Succeeded");
}

TEST(Conditions, OfAnotherOperatorMayHaveNoTimes) {
  const json status = {{"conditions", {{{"type", "Created"}, {"status", "True"}}}}};
  const json written = to_json(read_status(status));
  EXPECT_FALSE(written["conditions"][0].contains("lastUpdateTime"));
  EXPECT_FALSE(written["conditions"][0].contains("lastTransitionTime"));
}

TEST(Conditions, TheSameAgainIsNoChange) {
  TfJobStatus status;
  enter(status, JobPhase::kRunning, "m", 100);
  const json before = to_json(status);
  EXPECT_FALSE(enter(status, JobPhase::kRunning, "another message", 200));
  EXPECT_EQ(to_json(status), before);
}

TEST(Conditions, AnotherReasonKeepsTheTimeOfTheTransition) {
  TfJobStatus status;
  enter(status, JobPhase::kRunning, "m", 100);
  EXPECT_TRUE(enter(status, JobPhase::kRunning, "m", 200, "Other"));
  EXPECT_EQ(status.conditions[0].changed, kube_time(100));
  EXPECT_EQ(status.conditions[0].updated, kube_time(200));
}

TEST(Conditions, RunningAndRestartingReplaceEachOther) {
  TfJobStatus status;
  enter(status, JobPhase::kCreated, "m", 1);
  enter(status, JobPhase::kRunning, "m", 2);
  enter(status, JobPhase::kRestarting, "m", 3);
  EXPECT_THAT(shown(status), ElementsAre("Created TFJobCreated", "Restarting TFJobRestarting"));
  enter(status, JobPhase::kRunning, "m", 4);
  EXPECT_THAT(shown(status), ElementsAre("Created TFJobCreated", "Running TFJobRunning"));
}

TEST(Conditions, ThereIsOneTerminalCondition) {
  TfJobStatus status;
  enter(status, JobPhase::kSucceeded, "m", 1);
  EXPECT_FALSE(enter(status, JobPhase::kFailed, "m", 2));
  EXPECT_FALSE(enter(status, JobPhase::kRunning, "m", 3));
  EXPECT_THAT(shown(status), ElementsAre("Succeeded TFJobSucceeded"));
}

TEST(Conditions, SuspendedTurnsRunningFalseAndResumedBeginsAnew) {
  TfJobStatus status;
  enter(status, JobPhase::kCreated, "m", 1);
  enter(status, JobPhase::kRunning, "m", 2);
  enter(status, JobPhase::kSuspended, "m", 3);
  EXPECT_THAT(shown(status), ElementsAre("Created TFJobCreated", "not Running TFJobSuspended",
                                         "Suspended TFJobSuspended"));
  EXPECT_TRUE(resume(status, "m", 4));
  EXPECT_FALSE(resume(status, "m", 5));
  enter(status, JobPhase::kRunning, "m", 6);
  EXPECT_THAT(shown(status), ElementsAre("Created TFJobCreated", "not Suspended TFJobResumed",
                                         "Running TFJobRunning"));
  EXPECT_EQ(status.started, kube_time(4));
}

TEST(Conditions, AreReadAsTheyWereWritten) {
  TfJobStatus status;
  enter(status, JobPhase::kCreated, "m", 1);
  enter(status, JobPhase::kFailed, "m", 2, "InvalidTFJobSpec");
  status.replicas = {counts(ReplicaType::kWorker, 1, 2, 3)};
  status.replicas[0].finished = {0, 4};
  status.replicas[0].restarts = 7;
  status.started = kube_time(1);
  status.controller = std::make_shared<const json>(json{{"a", 1}});
  EXPECT_EQ(to_json(read_status(to_json(status))), to_json(status));
  EXPECT_EQ(to_json(status)["replicaStatuses"]["Worker"], json({{"active", 1},
                                                                {"succeeded", 2},
                                                                {"failed", 3},
                                                                {"restartCount", 7},
                                                                {"finished", {0, 4}}}));
  EXPECT_TRUE(read_status(json::array({1})).conditions.empty());
}

// Upstream's table: what the counts of chief, workers and servers say of the job.
struct Row {
  const char* name;
  std::vector<std::pair<std::string, int>> replicas;
  std::vector<ReplicaStatus> counted;
  std::optional<JobPhase> expected;
  Counted facts = {};
  const char* success_policy = "";
};

TEST(Phase, FollowsFromTheCountsAsUpstreamsTableHasIt) {
  using enum ReplicaType;
  using enum JobPhase;
  const std::vector<std::pair<std::string, int>> c{{"Chief", 1}}, w1{{"Worker", 1}},
      w4{{"Worker", 4}}, cw{{"Chief", 1}, {"Worker", 4}}, cp{{"Chief", 1}, {"PS", 1}};
  const Counted first{.first_worker_succeeded = true};
  const Row rows[] = {
      {"chief succeeded", c, {counts(kChief, 0, 1, 0)}, kSucceeded},
      {"chief runs", c, {counts(kChief, 1, 0, 0)}, kRunning},
      {"chief failed", c, {counts(kChief, 0, 0, 1)}, kFailed},
      {"worker failed", w1, {counts(kWorker, 0, 0, 1)}, kFailed},
      {"worker succeeded", w1, {counts(kWorker, 0, 1, 0)}, kSucceeded},
      {"worker runs", w1, {counts(kWorker, 1, 0, 0)}, kRunning},
      {"2 succeeded, 2 run", w4, {counts(kWorker, 2, 2, 0)}, kRunning},
      {"2 failed, 2 run", w4, {counts(kWorker, 2, 0, 2)}, kFailed},
      {"2 succeeded, 2 failed", w4, {counts(kWorker, 0, 2, 2)}, kFailed},
      {"worker 0 succeeded", w4, {counts(kWorker, 3, 1, 0)}, kSucceeded, first},
      {"the same, AllWorkers", w4, {counts(kWorker, 3, 1, 0)}, kRunning, first, "AllWorkers"},
      {"AllWorkers, all", w4, {counts(kWorker, 0, 4, 0)}, kSucceeded, first, "AllWorkers"},
      {"AllWorkers, 1 failed", w4, {counts(kWorker, 2, 1, 1)}, kFailed, {}, "AllWorkers"},
      {"chief runs, workers failed",
       cw,
       {counts(kChief, 1, 0, 0), counts(kWorker, 0, 0, 4)},
       kFailed},
      {"chief runs, workers succeeded",
       cw,
       {counts(kChief, 1, 0, 0), counts(kWorker, 0, 4, 0)},
       kRunning},
      {"chief runs, ps failed", cp, {counts(kChief, 1, 0, 0), counts(kPs, 0, 0, 1)}, kFailed},
      {"chief failed, workers succeeded",
       cw,
       {counts(kChief, 0, 0, 1), counts(kWorker, 0, 4, 0)},
       kFailed},
      // Upstream says both; here the chief's word counts.
      {"chief succeeded, workers failed",
       cw,
       {counts(kChief, 0, 1, 0), counts(kWorker, 0, 0, 4)},
       kSucceeded},
      {"chief is replaced after 130",
       c,
       {counts(kChief, 0, 0, 0)},
       kRestarting,
       {.restarting = true}},
  };
  for (const Row& row : rows) {
    const TfJob job = read_job(job_json(row.replicas, {{"successPolicy", row.success_policy}}));
    EXPECT_EQ(phase_of(job, row.counted, row.facts), row.expected) << row.name;
  }
}

TEST(Phase, OfServersAloneIsNeverASuccess) {
  const TfJob job = read_job(job_json({{"PS", 1}}));
  EXPECT_EQ(phase_of(job, {counts(ReplicaType::kPs, 0, 1, 0)}), std::nullopt);
}

TEST(Replicas, AreCountedFromWhatAControllerRemembers) {
  const TfJob job = read_job(job_json({{"Worker", 4}, {"PS", 1}}));
  JobState state;
  auto add = [&](const char* type, int index, TaskState is) {
    TaskReport& task = state.tasks.emplace_back();
    task.task = {type, index};
    task.state = is;
    task.restarts = index;
  };
  add("ps", 0, TaskState::kRunning);
  add("worker", 3, TaskState::kSucceeded);
  add("worker", 0, TaskState::kSucceeded);
  add("worker", 1, TaskState::kRunning);
  add("worker", 2, TaskState::kWaiting);
  const auto all = count_replicas(job, state, [](const TaskId& id) { return id.job == "worker"; });
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].active, 1);
  EXPECT_EQ(all[1].active, 0);
  EXPECT_EQ(all[1].pending, 2);
  EXPECT_EQ(all[1].succeeded, 2);
  EXPECT_EQ(all[1].restarts, 6);
  EXPECT_THAT(all[1].finished, ElementsAre(0, 3));
}

TEST(Replicas, ThatRanWhenTheJobSucceededCountAsSucceeded) {
  TfJobStatus status;
  status.replicas = {counts(ReplicaType::kPs, 2, 0, 0)};
  count_cleaned(status);
  EXPECT_EQ(status.replicas[0].active, 0);
  EXPECT_EQ(status.replicas[0].succeeded, 2);
}

}  // namespace
}  // namespace capstan::jobs::k8s
