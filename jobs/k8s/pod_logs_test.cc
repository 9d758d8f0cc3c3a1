#include "jobs/k8s/pod_logs.h"

#include <gmock/gmock.h>

#include "base/temporary_folder.h"
#include "jobs/job_view.h"
#include "jobs/k8s/cluster_play.h"
#include "jobs/k8s/kept_job.h"
#include "jobs/local/log_reader.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class PodLogs : public ClusterPlay {
 protected:
  OnTaskLine sink() {
    return [this](const TaskId& task, std::string_view line) {
      lines.push_back(task.name() + " " + std::string(line));
      if (printed) printed();
    };
  }
  int read(const LogChoice& choice = {}) {
    return read_logs(client, replica_pods(client, job()), choice, sink());
  }
  // Until nothing more is to come.
  void follow(const std::function<void()>& begin) {
    JobWatch watch(client, job(), JobWatch::Pods::kWatched);
    const LogFollow logs(client, watch, {}, sink());
    begin();
    EXPECT_TRUE(watch.wait([&] { return logs.quiet(); }, 20, [] { return ""; }));
  }

  std::vector<std::string> lines;
  std::function<void()> printed;
};

TEST_F(PodLogs, AreReadInTheOrderOfTasks) {
  make({{"Worker", 2}, {"PS", 1}});
  print(running(ReplicaType::kWorker, 1), "b\n");
  print(running(ReplicaType::kWorker, 0), "a\nA\n");
  print(running(ReplicaType::kPs, 0), "p\n");
  EXPECT_EQ(read(), 3);
  EXPECT_THAT(lines, ElementsAre("ps/0 p", "worker/0 a", "worker/0 A", "worker/1 b"));
}

TEST_F(PodLogs, OfOneTaskAreReadAlone) {
  make({{"Worker", 2}});
  print(running(ReplicaType::kWorker, 0), "a\n");
  print(running(ReplicaType::kWorker, 1), "b\n");
  EXPECT_EQ(read({.task = "worker/1"}), 1);
  EXPECT_THAT(lines, ElementsAre("worker/1 b"));
}

TEST_F(PodLogs, OfAPodThatHasNotBegunAreNotAskedFor) {
  make({{"Worker", 1}});
  pod(ReplicaType::kWorker, 0, {{"waiting", {{"reason", "ContainerCreating"}}}}, "Pending");
  api.clear_history();
  EXPECT_EQ(read(), 0);
  EXPECT_THAT(api.history(), testing::Not(testing::Contains(HasSubstr("pods/log"))));
}

TEST_F(PodLogs, AreFollowedToTheEndOfTheJobAndOfPodsThatComeLater) {
  make({{"Worker", 2}});
  const std::string first = running(ReplicaType::kWorker, 0);
  printed = [&] {
    if (lines.back() == "worker/0 one") {
      print(running(ReplicaType::kWorker, 1), "two\n");
    } else if (lines.back() == "worker/1 two") {
      print(first, "three\n");
      end_pod(first, 0), end_pod("mnist-worker-1", 0);
      set_phase("Succeeded");
    }
  };
  follow([&] { print(first, "one\n"); });
  EXPECT_THAT(lines, ElementsAre("worker/0 one", "worker/1 two", "worker/0 three"));
}

TEST_F(PodLogs, OfAContainerThatStartsAgainInItsPodAreFollowedAnew) {
  make({{"Worker", 1}});
  const std::string name = running(ReplicaType::kWorker, 0);
  bool again = false;
  printed = [&] {
    if (again) return;
    again = true;
    const json status = {{"phase", "Running"},
                         {"containerStatuses",
                          {{{"name", "tensorflow"},
                            {"restartCount", 1},
                            {"state", {{"running", {{"startedAt", kLater}}}}}}}}};
    call(Verb::kMergePatch, kPods, name, {{"status", status}}, "status");
    loop.post([&, name] {
      end_pod(name, 0);
      set_phase("Succeeded");
    });
  };
  follow([&] { print(name, "x\n"); });
  // The memory's log has one text for all runs.
  EXPECT_THAT(lines, ElementsAre("worker/0 x", "worker/0 x"));
}

TEST_F(PodLogs, OfServersThatGoOnAreNotWaitedFor) {
  make({{"Chief", 1}, {"PS", 1}});
  const std::string chief = running(ReplicaType::kChief, 0);
  print(running(ReplicaType::kPs, 0), "serves\n");
  follow([&] {
    print(chief, "done\n");
    end_pod(chief, 0);
    set_phase("Succeeded");
  });
  EXPECT_THAT(lines, UnorderedElementsAre("ps/0 serves", "chief/0 done"));
}

TEST_F(PodLogs, EndWhenTheJobIsDeleted) {
  make({{"Worker", 1}});
  const std::string name = running(ReplicaType::kWorker, 0);
  bool said = false;
  printed = [&] { said = true; };
  JobWatch watch(client, job(), JobWatch::Pods::kWatched);
  const LogFollow logs(client, watch, {}, sink());
  print(name, "last\n");
  EXPECT_TRUE(watch.wait([&] { return said; }, 20, [] { return ""; }));
  api.end_log({"ml", name});
  delete_job(client, job());
  api.collect_garbage();
  EXPECT_TRUE(watch.wait([&] { return logs.quiet(); }, 20, [] { return ""; }));
  EXPECT_THAT(lines, ElementsAre("worker/0 last"));
}

TEST_F(PodLogs, ThatMayNotBeWatchedAreNotWaitedFor) {
  make({{"Worker", 1}});
  const json there = job();
  api.plan({.matches = [](const ApiCall& call) { return call.resource == kPods; }, .code = 403});
  JobWatch watch(client, there, JobWatch::Pods::kWatched);
  try {
    watch.wait([] { return false; }, 20, [] { return ""; });
    FAIL() << "it waited";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("cannot list pods in namespace ml"));
  }
}

class KeptJobs : public PodLogs {
 protected:
  std::optional<std::string> keep() {
    return keep_job(client, job(), replica_pods(client, job()), "https://kube", shelf);
  }
  std::vector<std::string> kept_lines(const JobRecord& record) {
    std::vector<TaskId> tasks;
    std::vector<std::string> found;
    for (const TaskReport& task : record.state.tasks) tasks.push_back(task.task);
    LogReader reader(record.log_dir, tasks, [](const TaskId& task) { return task.name() + " "; });
    reader.finish([&](std::string_view line) { found.emplace_back(line); });
    return found;
  }

  TemporaryFolder folder;
  JobShelf shelf{posix_files(), folder.file("jobs")};
};

TEST_F(KeptJobs, LieAmongThoseThatHaveEnded) {
  make({{"Worker", 2}});
  const std::string name = running(ReplicaType::kWorker, 0);
  print(name, "a\nb\n");
  end_pod(name, 0);
  set_phase("Succeeded");
  ASSERT_TRUE(keep());
  const ShelvedJob job = shelf.find("mnist");
  EXPECT_EQ(job.state(), "succeeded");
  EXPECT_EQ(job.record->cluster, "namespace ml of https://kube");
  EXPECT_THAT(kept_lines(*job.record), ElementsAre("worker/0 a", "worker/0 b"));
  EXPECT_EQ(job.record->state.tasks[0].seconds, 30);
  EXPECT_THAT(status_text(job, 2e9, 0, {}), HasSubstr("ran in   namespace ml of https://kube"));
}

TEST_F(KeptJobs, ThatFailedSayWhy) {
  make({{"Worker", 1}});
  const std::string name = running(ReplicaType::kWorker, 0);
  end_pod(name, 137);
  set_phase("Failed", "worker/0 failed first");
  keep();
  const ShelvedJob job = shelf.find("mnist");
  EXPECT_EQ(job.state(), "failed");
  EXPECT_EQ(job.record->reason, "worker/0 failed first");
  EXPECT_EQ(job.record->state.tasks[0].signal, 9);
}

TEST_F(KeptJobs, ThatRanAreStoppedOnesAndKeptOnceHoweverOften) {
  make({{"Worker", 1}});
  print(running(ReplicaType::kWorker, 0), "a\n");
  const auto id = keep();
  EXPECT_EQ(keep(), id);
  ASSERT_EQ(shelf.list().size(), 1u);
  EXPECT_EQ(shelf.list()[0].state(), "stopped");
  EXPECT_THAT(kept_lines(*shelf.list()[0].record), ElementsAre("worker/0 a"));
}

TEST_F(KeptJobs, LeaveNothingWhereNothingWasPrinted) {
  make({{"Worker", 1}});
  EXPECT_FALSE(keep());
  EXPECT_THAT(shelf.list(), IsEmpty());
}

TEST_F(KeptJobs, MakeRoomForThoseThatEndLater) {
  JobShelf narrow(posix_files(), folder.file("narrow"), {.jobs = 100, .bytes = 20'000});
  make({{"Worker", 1}});
  print(running(ReplicaType::kWorker, 0), std::string(30'000, 'x') + "\n");
  keep_job(client, job(), replica_pods(client, job()), "https://kube", narrow);
  ASSERT_EQ(narrow.list().size(), 1u);
  EXPECT_FALSE(posix_files().exists(narrow.log_folder(narrow.list()[0].id)));
}

TEST_F(KeptJobs, WithoutAPlaceItIsSaidAndThatIsAll) {
  JobShelf nowhere(posix_files(), "");
  make({{"Worker", 1}});
  running(ReplicaType::kWorker, 0);
  EXPECT_FALSE(keep_job(client, job(), replica_pods(client, job()), "https://kube", nowhere));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("the logs are not kept: there is no home")));
}

}  // namespace
}  // namespace capstan::jobs::k8s
