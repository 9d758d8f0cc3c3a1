#include "jobs/k8s/cluster_jobs.h"

#include <gmock/gmock.h>

#include "jobs/k8s/cluster_play.h"
#include "jobs/k8s/cluster_view.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ClusterJobs : public ClusterPlay {
 protected:
  Applied apply(const json& object, bool dry_run = false) {
    return apply_job(client, object, "ml", dry_run);
  }
  static json without_space(json object) {
    object["metadata"].erase("namespace");
    return object;
  }
  std::string message_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      return error.message();
    }
    return "nothing was thrown";
  }
};

TEST_F(ClusterJobs, AFileMakesAJobAndThenChangesWhatItNames) {
  EXPECT_EQ(apply(job_json({{"Worker", 2}})).what, Applied::What::kCreated);
  EXPECT_EQ(apply(job_json({{"Worker", 2}})).what, Applied::What::kUnchanged);
  const Applied changed = apply(job_json({{"Worker", 3}}));
  EXPECT_EQ(changed.what, Applied::What::kChanged);
  EXPECT_THAT(changed.changes, ElementsAre("spec.tfReplicaSpecs.Worker.replicas: 2 -> 3"));
}

TEST_F(ClusterJobs, WhatTheFileDoesNotNameStays) {
  apply(job_json({{"Worker", 2}}));
  patch_job({{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  EXPECT_EQ(apply(job_json({{"Worker", 2}})).what, Applied::What::kUnchanged);
  EXPECT_EQ(job()["spec"]["runPolicy"]["suspend"], true);
}

TEST_F(ClusterJobs, AFileWithoutANamespaceGetsTheOneThatIsMeant) {
  apply(without_space(job_json({{"Worker", 1}})));
  EXPECT_EQ(job()["metadata"]["namespace"], "ml");
}

TEST_F(ClusterJobs, ADryRunChangesNothing) {
  EXPECT_EQ(apply(job_json({{"Worker", 1}}), /*dry_run=*/true).what, Applied::What::kCreated);
  EXPECT_TRUE(job().is_null());
}

TEST_F(ClusterJobs, WhatOnlyTheServerMaySayIsNotSent) {
  json exported = job_json({{"Worker", 1}});
  exported["metadata"]["resourceVersion"] = "77";
  exported["metadata"]["managedFields"] = json::array();
  exported["status"] = {{"conditions", json::array()}};
  EXPECT_EQ(apply(exported).what, Applied::What::kCreated);
}

TEST_F(ClusterJobs, AFieldThatMustNotChangeIsNamedAndNothingIsSent) {
  const json ours = {{"runPolicy", {{"managedBy", "kubeflow.org/training-operator"}}}};
  const json theirs = {{"runPolicy", {{"managedBy", "kueue.x-k8s.io/multikueue"}}}};
  apply(job_json({{"Worker", 1}}, ours));
  api.clear_history();
  const Applied refused = apply(job_json({{"Worker", 1}}, theirs));
  ASSERT_EQ(refused.errors.size(), 1u);
  EXPECT_EQ(refused.errors[0].path, "spec.runPolicy.managedBy");
  EXPECT_THAT(api.history(), ElementsAre("get tfjobs.kubeflow.org ml/mnist"));
  // One that does not say it leaves it.
  EXPECT_THAT(apply(job_json({{"Worker", 1}})).errors, IsEmpty());
}

TEST_F(ClusterJobs, AJobOnItsWayOutIsNotApplied) {
  json object = job_json({{"Worker", 1}});
  object["metadata"]["finalizers"] = {"example.com/wait"};
  apply(object);
  delete_job(client, job());
  EXPECT_THAT(message_of([&] {
                apply(job_json({{"Worker", 1}}));
              }),
              HasSubstr("job ml/mnist is being deleted"));
  EXPECT_EQ(state_of(job()), "Deleting");
}

TEST_F(ClusterJobs, ARefusalOfTheServerIsThrownAsItIs) {
  api.plan({.matches = [](const ApiCall& call) { return call.verb == Verb::kApply; }, .code = 403});
  EXPECT_THAT(message_of([&] {
                apply(job_json({{"Worker", 1}}));
              }),
              HasSubstr("cannot patch tfjobs.kubeflow.org ml/mnist: the server answers 403"));
}

TEST_F(ClusterJobs, ReplicasAreScaledWhateverTheirTypesAreSpelled) {
  const json before = make({{"MASTER", 1}, {"worker", 2}});
  EXPECT_THAT(scale_job(client, before, {{"Worker", 4}, {"master", 1}}),
              ElementsAre("worker: 2 -> 4"));
  EXPECT_EQ(job()["spec"]["tfReplicaSpecs"]["worker"]["replicas"], 4);
  EXPECT_THAT(job()["spec"]["tfReplicaSpecs"], testing::SizeIs(2));
}

TEST_F(ClusterJobs, ATypeThatAJobDoesNotHaveIsRefusedWithThoseItHas) {
  const json before = make({{"Chief", 1}, {"PS", 2}});
  EXPECT_THAT(message_of([&] {
                scale_job(client, before, {{"worker", 4}});
              }),
              HasSubstr("job ml/mnist has no replicas of type worker; it has Chief, PS"));
}

TEST_F(ClusterJobs, AJobThatHasEndedIsNeitherScaledNorSuspended) {
  make({{"Worker", 2}});
  set_phase("Succeeded");
  EXPECT_THAT(message_of([&] {
                scale_job(client, job(), {{"worker", 4}});
              }),
              HasSubstr("has ended (Succeeded): there is nothing to scale"));
  EXPECT_THAT(message_of([&] { suspend_job(client, job(), true); }),
              HasSubstr("there is nothing to suspend"));
}

TEST_F(ClusterJobs, SuspendingTwiceIsNoNews) {
  make({{"Worker", 2}});
  EXPECT_TRUE(suspend_job(client, job(), true));
  EXPECT_FALSE(suspend_job(client, job(), true));
  EXPECT_TRUE(suspend_job(client, job(), false));
  EXPECT_EQ(job()["spec"]["runPolicy"]["suspend"], false);
}

TEST_F(ClusterJobs, AnotherJobOfTheNameIsNotDeleted) {
  const json first = make({{"Worker", 1}});
  delete_job(client, first);
  make({{"Worker", 1}});
  delete_job(client, first);
  EXPECT_FALSE(job().is_null());
}

TEST_F(ClusterJobs, PodsComeInTheOrderOfTheirTasks) {
  make({{"Worker", 11}, {"PS", 1}, {"Chief", 1}});
  for (int i : {10, 2}) running(ReplicaType::kWorker, i);
  running(ReplicaType::kPs, 0);
  running(ReplicaType::kChief, 0);
  std::vector<std::string> names;
  for (const json& pod : replica_pods(client, job())) names.push_back(pod["metadata"]["name"]);
  EXPECT_THAT(names,
              ElementsAre("mnist-chief-0", "mnist-ps-0", "mnist-worker-2", "mnist-worker-10"));
}

TEST_F(ClusterJobs, AListOfManyPagesIsWhole) {
  for (int i = 0; i < 1203; ++i) {
    json object = job_json({{"Worker", 1}});
    object["metadata"]["name"] = fmt::format("j{}", i);
    call(Verb::kCreate, kTfJobs, "", object);
  }
  EXPECT_EQ(client.list(kTfJobs, "ml").size(), 1203u);
  EXPECT_EQ(client.list(kTfJobs, "other").size(), 0u);
}

TEST_F(ClusterJobs, AStateThatNoLongerHoldsIsNotShown) {
  make({{"Worker", 1}});
  EXPECT_EQ(state_of(job()), "Pending");
  const json conditions = {{{"type", "Created"}, {"status", "True"}},
                           {{"type", "Suspended"}, {"status", "False"}}};
  call(Verb::kMergePatch, kTfJobs, "mnist", {{"status", {{"conditions", conditions}}}}, "status");
  EXPECT_EQ(state_of(job()), "Created");
}

TEST_F(ClusterJobs, ATableHasTheReasonOfAFailure) {
  make({{"Worker", 2}, {"PS", 1}});
  set_phase("Failed", "worker/0 failed first\x1b[2J");
  const std::string table = tf_jobs_table({job()}, /*spaces=*/true, 2e9, 0);
  EXPECT_THAT(table, testing::MatchesRegex(
                         "namespace  name .*\nml +mnist +Failed +0/3 +0 s .*worker/0 failed.*\n"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
  EXPECT_EQ(json::parse(tf_job_line_json(job(), 2e9))["state"], "Failed");
}

TEST_F(ClusterJobs, AJobIsShownWithItsPodsAndWhatTheyWaitFor) {
  make({{"Worker", 2}});
  running(ReplicaType::kWorker, 0);
  pod(ReplicaType::kWorker, 1,
      {{"waiting", {{"reason", "ErrImagePull"}, {"message", "no such image"}}}}, "Pending");
  const json event = {{"type", "Warning"},
                      {"reason", "FailedCreatePod"},
                      {"count", 3},
                      {"lastTimestamp", kTime},
                      {"message", "exceeded quota"}};
  const std::string text = tf_job_text(job(), replica_pods(client, job()), {event}, 2e9, 0);
  EXPECT_THAT(text, HasSubstr("ErrImagePull: no such image"));
  EXPECT_THAT(text, testing::ContainsRegex("! FailedCreatePod +3 .*exceeded quota"));
  EXPECT_THAT(text, testing::ContainsRegex("Worker +2 "));
}

}  // namespace
}  // namespace capstan::jobs::k8s
