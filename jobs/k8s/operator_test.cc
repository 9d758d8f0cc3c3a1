// What the operator makes of a job: pods, services, status, events. Each case is also played with a
// new operator after every event, which must make no difference.

#include <gmock/gmock.h>

#include "jobs/k8s/operator_play.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OperatorTest : public testing::TestWithParam<bool> {
 protected:
  OperatorTest() { play.replaces = GetParam(); }
  OperatorPlay play;
};
INSTANTIATE_TEST_SUITE_P(Operators, OperatorTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "many" : "one"; });

TEST_P(OperatorTest, RunsAJobOfOneWorkerToItsEnd) {
  play.create(job_json("j", {{"Worker", 1}}));
  EXPECT_THAT(play.pods(), ElementsAre("j-worker-0"));
  EXPECT_THAT(play.names(kServices), ElementsAre("j-worker-0"));
  EXPECT_EQ(play.conditions("j"), "Created");
  play.run("j-worker-0");
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  EXPECT_EQ(play.replicas("j", "Worker").value("active", 0), 1);
  play.end_pod("j-worker-0", 0);
  EXPECT_EQ(play.all_conditions("j"), "Created, !Running, Succeeded");
  EXPECT_EQ(play.replicas("j", "Worker").value("succeeded", 0), 1);
  EXPECT_TRUE(play.has_event("SuccessfulCreatePod", "j-worker-0"));
  EXPECT_TRUE(play.has_event("SuccessfulCreateService", "j-worker-0"));
  EXPECT_TRUE(play.has_event("TFJobSucceeded"));
}

TEST_P(OperatorTest, MakesAllPodsAndServicesAtOnceWithTheJobAsOwner) {
  play.create(job_json("j", {{"Chief", 1}, {"PS", 2}, {"Worker", 3}, {"Evaluator", 1}}));
  EXPECT_EQ(play.pods().size(), 7);
  EXPECT_EQ(play.names(kServices), play.pods());
  EXPECT_THAT(play.names(kSecrets), ElementsAre(HasSubstr("j-secret-")));
  const json job = play.job("j");
  for (const json& pod : play.api.objects(kPods)) {
    const json& owner = pod.at("metadata").at("ownerReferences").at(0);
    EXPECT_EQ(owner.at("uid"), job["metadata"]["uid"]);
    EXPECT_EQ(owner.at("controller"), true);
  }
  EXPECT_FALSE(job["status"].value("startTime", "").empty());
}

TEST_P(OperatorTest, CountsWhoRunsAndWhoWaits) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 3}}));
  play.run("j-worker-0");
  play.run("j-worker-1");
  const json workers = play.replicas("j", "Worker");
  EXPECT_EQ(workers.value("active", 0), 2);
  EXPECT_EQ(workers.value("pending", 0), 1);
  EXPECT_THAT(workers.value("selector", ""), HasSubstr("replica-type=worker"));
  EXPECT_EQ(play.replicas("j", "PS").value("pending", 0), 1);
}

TEST_P(OperatorTest, RunsOnceTheChiefRuns) {
  play.create(job_json("j", {{"Chief", 1}, {"Worker", 1}}));
  play.run("j-worker-0");
  EXPECT_EQ(play.conditions("j"), "Created");
  play.run("j-chief-0");
  EXPECT_EQ(play.conditions("j"), "Created, Running");
}

TEST_P(OperatorTest, NeverMakesAPodTwice) {
  play.create(job_json("j", {{"Worker", 4}}));
  play.run_all();
  for (int i = 0; i < 3; ++i) play.end_pod("j-worker-" + std::to_string(i + 1), 0);
  EXPECT_EQ(play.creations("pods"), 4);
  EXPECT_EQ(play.creations("services"), 4);
}

TEST_P(OperatorTest, FailsWhenAWorkerFailsThatIsNotStartedAgain) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 2}}));
  play.run_all();
  play.end_pod("j-worker-1", 3);
  play.advance(1);
  EXPECT_EQ(play.all_conditions("j"), "Created, !Running, Failed");
  EXPECT_EQ(play.replicas("j", "Worker").value("failed", 0), 1);
  EXPECT_TRUE(play.has_event("TFJobFailed", "worker/1 failed first, with exit code 3"));
  EXPECT_FALSE(play.job("j")["status"].value("completionTime", "").empty());
}

TEST_P(OperatorTest, CleansRunningPodsByDefaultAndKeepsThoseThatEnded) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 2}}));
  play.run_all();
  play.end_pod("j-worker-0", 0);
  play.finish_deletions();
  EXPECT_EQ(play.conditions("j"), "Created, Succeeded");
  EXPECT_THAT(play.pods(), ElementsAre("j-worker-0"));
  EXPECT_THAT(play.names(kServices), ElementsAre("j-worker-0"));
  EXPECT_EQ(play.replicas("j", "PS").value("succeeded", 0), 1);
  EXPECT_TRUE(play.has_event("SuccessfulDeletePod", "j-ps-0"));
}

struct Clean {
  const char* policy;
  std::vector<std::string> left;
};
TEST_P(OperatorTest, CleansAsItsPolicySays) {
  const Clean cleans[] = {{"All", {}},
                          {"Running", {"j-worker-0"}},
                          {"None", {"j-ps-0", "j-worker-0", "j-worker-1"}},
                          {"PS", {"j-worker-0", "j-worker-1"}}};
  for (const Clean& clean : cleans) {
    SCOPED_TRACE(clean.policy);
    OperatorPlay one;
    one.replaces = GetParam();
    one.create(job_json("j", {{"PS", 1}, {"Worker", 2}}, {{"cleanPodPolicy", clean.policy}}));
    one.run_all();
    one.end_pod("j-worker-0", 0);
    one.finish_deletions();
    EXPECT_EQ(one.pods(), clean.left);
    EXPECT_EQ(one.names(kServices), clean.left);
  }
}

TEST_P(OperatorTest, StartsAgainByExitCodeAndCounts) {
  play.create(job_json("j", {{"Worker", 2, "ExitCode"}}));
  play.run_all();
  const std::string before = play.uid("j-worker-1");
  play.end_pod("j-worker-1", 130);
  EXPECT_EQ(play.conditions("j"), "Created, Restarting");
  EXPECT_TRUE(play.has_event("TFJobRestarting"));
  play.advance(1.5);
  EXPECT_NE(play.uid("j-worker-1"), before);
  EXPECT_NE(play.uid("j-worker-1"), "");
  EXPECT_EQ(play.replicas("j", "Worker").value("restartCount", 0), 1);
  play.run("j-worker-1");
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  EXPECT_EQ(play.replicas("j", "Worker").value("restartCount", 0), 1);
}

TEST_P(OperatorTest, DoesNotStartAgainWhatFailedForGoodByExitCode) {
  play.create(job_json("j", {{"Worker", 1, "ExitCode"}}));
  play.run_all();
  play.end_pod("j-worker-0", 1);
  play.advance(1);
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
}

TEST_P(OperatorTest, DoesNotStartAgainWhatWantedTooMuchMemory) {
  play.create(job_json("j", {{"Worker", 1, "ExitCode"}}));
  play.run_all();
  play.end_pod("j-worker-0", 137, "OOMKilled");
  play.advance(1);
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
}

TEST_P(OperatorTest, KeepsTheLimitOfRestartsAndRemovesEverything) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 1, "ExitCode"}},
                       {{"backoffLimit", 2}, {"cleanPodPolicy", "None"}}));
  for (int i = 0; i < 3; ++i) {
    play.run_all();
    play.end_pod("j-worker-0", 137);
    play.advance(5);
  }
  play.finish_deletions();
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
  EXPECT_TRUE(play.has_event("TFJobFailed", "backoffLimit"));
  EXPECT_THAT(play.pods(), IsEmpty());
  EXPECT_THAT(play.names(kServices), IsEmpty());
}

TEST_P(OperatorTest, CountsRestartsThatTheKubeletMakes) {
  play.create(job_json("j", {{"Worker", 4, "OnFailure"}}, {{"backoffLimit", 4}}));
  play.run_all();
  for (int i = 0; i < 3; ++i) play.restart_in_place("j-worker-" + std::to_string(i), 1);
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  EXPECT_EQ(play.replicas("j", "Worker").value("restartCount", 0), 3);
  play.restart_in_place("j-worker-3", 1);
  play.finish_deletions();
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
  EXPECT_THAT(play.pods(), IsEmpty());
}

TEST_P(OperatorTest, LetsTheKubeletStartAgainInPlace) {
  play.create(job_json("j", {{"Worker", 1, "OnFailure"}}));
  play.run_all();
  const json crashed = OperatorPlay::container(
      {{"terminated", {{"exitCode", 1}, {"finishedAt", play.now()}, {"reason", "Error"}}}});
  play.set_status("j-worker-0", {{"phase", "Running"}, {"containerStatuses", {crashed}}});
  EXPECT_EQ(play.conditions("j"), "Created, Running");
}

TEST_P(OperatorTest, ReplacesAnEvictedPodUnderOnFailure) {
  play.create(job_json("j", {{"Worker", 2, "OnFailure"}}));
  play.run_all();
  const std::string before = play.uid("j-worker-1");
  play.set_status("j-worker-1",
                  {{"phase", "Failed"}, {"reason", "Evicted"}, {"containerStatuses", nullptr}});
  play.advance(2);
  EXPECT_NE(play.uid("j-worker-1"), before);
  EXPECT_NE(play.uid("j-worker-1"), "");
}

TEST_P(OperatorTest, ReplacesAPodThatSomebodyRemoved) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 2}}, {{"backoffLimit", 0}}));
  play.run_all();
  const std::string before = play.uid("j-worker-1");
  play.remove_pod("j-worker-1");
  play.advance(0.5);
  EXPECT_NE(play.uid("j-worker-1"), before);
  EXPECT_NE(play.uid("j-worker-1"), "");
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  EXPECT_EQ(play.replicas("j", "Worker").value("restartCount", 0), 0);
}

TEST_P(OperatorTest, ReplacesAPodThatWasDrainedThoughItEndedWithZero) {
  play.create(job_json("j", {{"Worker", 1}}));
  play.run_all();
  const std::string before = play.uid("j-worker-0");
  play.remove_pod("j-worker-0", /*at_once=*/false);
  EXPECT_EQ(play.replicas("j", "Worker").value("failed", 0), 1);
  play.advance(3);
  play.end_pod("j-worker-0", 0);
  play.remove_pod("j-worker-0");
  play.advance(2);
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  EXPECT_NE(play.uid("j-worker-0"), before);
}

TEST_P(OperatorTest, ReplacesAPodThatWasRemovedAndEndedWithinTheSameSecond) {
  play.create(job_json("j", {{"Worker", 1}}));
  play.run_all();
  const std::string before = play.uid("j-worker-0");
  play.remove_pod("j-worker-0", /*at_once=*/false);
  play.end_pod("j-worker-0", 143);
  play.remove_pod("j-worker-0");
  play.advance(2);
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  EXPECT_NE(play.uid("j-worker-0"), before);
}

TEST_P(OperatorTest, RunsNothingAgainThatEndedWell) {
  play.create(job_json("j", {{"Worker", 2}}, json::object(), {{"successPolicy", "AllWorkers"}}));
  play.run_all();
  play.end_pod("j-worker-1", 0);
  EXPECT_EQ(play.replicas("j", "Worker").at("finished"), json::array({1}));
  play.remove_pod("j-worker-1");
  play.advance(5);
  EXPECT_THAT(play.pods(), ElementsAre("j-worker-0"));
  play.end_pod("j-worker-0", 0);
  EXPECT_EQ(play.conditions("j"), "Created, Succeeded");
}

TEST_P(OperatorTest, RemovesByForceWhatDoesNotGo) {
  play.create(job_json("j", {{"Worker", 1}}));
  play.run_all();
  const std::string before = play.uid("j-worker-0");
  play.remove_pod("j-worker-0", /*at_once=*/false);
  play.advance(35);
  EXPECT_EQ(play.uid("j-worker-0"), before);
  play.advance(10);
  EXPECT_NE(play.uid("j-worker-0"), before);
  EXPECT_NE(play.uid("j-worker-0"), "");
}

TEST_P(OperatorTest, MakesAServiceAgainThatSomebodyRemoved) {
  play.create(job_json("j", {{"Worker", 1}}));
  play.call(Verb::kDelete, kServices, "j-worker-0", json::object());
  play.settle();
  EXPECT_THAT(play.names(kServices), ElementsAre("j-worker-0"));
}

TEST_P(OperatorTest, EndsWhenTheMainContainerEndsThoughASidecarRuns) {
  play.create(job_json("j", {{"Worker", 1}}));
  play.run_all();
  const json ended = OperatorPlay::container(
      {{"terminated", {{"exitCode", 0}, {"finishedAt", play.now()}, {"reason", "Completed"}}}});
  const json sidecar = {{"name", "istio-proxy"}, {"state", {{"running", play.started()}}}};
  play.set_status("j-worker-0", {{"phase", "Running"}, {"containerStatuses", {ended, sidecar}}});
  EXPECT_EQ(play.conditions("j"), "Created, Succeeded");
  play.finish_deletions();
  EXPECT_THAT(play.pods(), IsEmpty());
}

TEST_P(OperatorTest, KeepsItsDeadline) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 1}},
                       {{"activeDeadlineSeconds", 20}, {"cleanPodPolicy", "None"}}));
  play.run_all();
  play.advance(15);
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  play.advance(6);
  play.finish_deletions();
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
  EXPECT_TRUE(play.has_event("TFJobFailed", "deadline"));
  EXPECT_THAT(play.pods(), IsEmpty());
}

TEST_P(OperatorTest, RemovesTheJobWhenItsTimeIsOver) {
  for (int code : {0, 1}) {
    OperatorPlay one;
    one.replaces = GetParam();
    one.create(job_json("j", {{"Worker", 1}}, {{"ttlSecondsAfterFinished", 10}}));
    one.run_all();
    one.end_pod("j-worker-0", code);
    one.advance(8);
    EXPECT_FALSE(one.job("j").is_null());
    one.advance(4);
    EXPECT_TRUE(one.job("j").is_null());
    one.api.collect_garbage();
    EXPECT_THAT(one.pods(), IsEmpty());
  }
}

TEST_P(OperatorTest, SuspendsAndResumes) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 2}}, {{"cleanPodPolicy", "None"}}));
  play.run_all();
  const std::string started = play.job("j")["status"]["startTime"];
  play.update("j", {{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  play.finish_deletions();
  EXPECT_EQ(play.all_conditions("j"), "Created, !Running, Suspended");
  EXPECT_THAT(play.pods(), IsEmpty());
  EXPECT_THAT(play.names(kServices), IsEmpty());
  EXPECT_EQ(play.replicas("j", "Worker").value("active", 0), 0);
  play.advance(30);
  play.update("j", {{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  EXPECT_EQ(play.pods().size(), 3);
  EXPECT_NE(play.job("j")["status"]["startTime"], started);
  play.run_all();
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  EXPECT_TRUE(play.has_event("TFJobSuspended"));
  EXPECT_TRUE(play.has_event("TFJobResumed"));
}

TEST_P(OperatorTest, BeginsNothingForAJobThatIsMadeSuspended) {
  play.create(job_json("j", {{"Worker", 1}}, {{"suspend", true}}));
  EXPECT_EQ(play.conditions("j"), "Created, Suspended");
  EXPECT_FALSE(play.job("j")["status"].contains("startTime"));
  EXPECT_THAT(play.pods(), IsEmpty());
}

TEST_P(OperatorTest, LeavesAJobAloneThatSomebodyElseManages) {
  play.create(job_json("j", {{"Worker", 1}}, {{"managedBy", "kueue.x-k8s.io/multikueue"}}));
  EXPECT_THAT(play.pods(), IsEmpty());
  EXPECT_FALSE(play.job("j").contains("status"));
  EXPECT_THAT(play.api.objects(kEvents), IsEmpty());
}

TEST_P(OperatorTest, RefusesAJobThatIsNotValid) {
  play.create(job_json("j", {{"Chief", 1}, {"Master", 1}}));
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
  EXPECT_TRUE(play.has_event("TFJobFailedValidation", "spec.tfReplicaSpecs"));
  EXPECT_THAT(play.pods(), IsEmpty());
}

TEST_P(OperatorTest, WarnsOfARestartPolicyInTheTemplate) {
  json job = job_json("j", {{"MASTER", 1}});
  job["spec"]["tfReplicaSpecs"]["MASTER"]["template"]["spec"]["restartPolicy"] = "OnFailure";
  play.create(job);
  EXPECT_TRUE(play.has_event("SetPodTemplateRestartPolicy"));
  EXPECT_THAT(play.pods(), ElementsAre("j-master-0"));
}

TEST_P(OperatorTest, ScalesUpAndDown) {
  play.create(job_json("j", {{"Chief", 1}, {"Worker", 2}}));
  play.run_all();
  const std::string first = play.uid("j-worker-0");
  play.update("j", {{"spec", {{"tfReplicaSpecs", {{"Worker", {{"replicas", 3}}}}}}}});
  EXPECT_THAT(play.pods(), ElementsAre("j-chief-0", "j-worker-0", "j-worker-1", "j-worker-2"));
  play.run_all();
  EXPECT_EQ(play.replicas("j", "Worker").value("active", 0), 3);
  play.update("j", {{"spec", {{"tfReplicaSpecs", {{"Worker", {{"replicas", 1}}}}}}}});
  play.finish_deletions();
  EXPECT_THAT(play.pods(), ElementsAre("j-chief-0", "j-worker-0"));
  EXPECT_THAT(play.names(kServices), ElementsAre("j-chief-0", "j-worker-0"));
  EXPECT_EQ(play.uid("j-worker-0"), first);
  EXPECT_EQ(play.conditions("j"), "Created, Running");
}

TEST_P(OperatorTest, StartsAllAgainTogether) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 2, "ExitCode"}}, {{"restartScope", "Job"}}));
  play.run_all();
  const std::string server = play.uid("j-ps-0");
  play.end_pod("j-worker-0", 137);
  play.finish_deletions();
  play.advance(2);
  EXPECT_NE(play.uid("j-ps-0"), server);
  EXPECT_EQ(play.pods().size(), 3);
}

TEST_P(OperatorTest, LeavesTensorBoardUntilTheJobGoes) {
  play.create(job_json("j", {{"PS", 1}, {"Master", 1}}, json::object(),
                       {{"tensorboard", {{"logDir", "/logs"}}}}));
  EXPECT_THAT(play.pods(), ElementsAre("j-master-0", "j-ps-0", "j-tensorboard"));
  play.run_all();
  play.remove_pod("j-tensorboard");
  EXPECT_EQ(play.pods().size(), 3);
  play.end_pod("j-master-0", 0);
  play.finish_deletions();
  EXPECT_EQ(play.conditions("j"), "Created, Succeeded");
  EXPECT_THAT(play.pods(), ElementsAre("j-master-0", "j-tensorboard"));
  play.remove_job("j");
  EXPECT_THAT(play.pods(), IsEmpty());
}

TEST_P(OperatorTest, GivesUpAPodThatWaitsForTooLong) {
  play.create(job_json("j", {{"Worker", 1}}, {{"pendingTimeoutSeconds", 30}}));
  play.set_status("j-worker-0", {{"phase", "Pending"},
                                 {"conditions",
                                  {{{"type", "PodScheduled"},
                                    {"status", "False"},
                                    {"reason", "Unschedulable"},
                                    {"message", "no GPU"}}}}});
  EXPECT_TRUE(play.has_event("Unschedulable", "no GPU"));
  play.advance(29);
  EXPECT_EQ(play.conditions("j"), "Created");
  play.advance(2);
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
  EXPECT_TRUE(play.has_event("TFJobFailed", "Unschedulable: no GPU"));
}

TEST_P(OperatorTest, SaysWhoHasTheNameOfItsPod) {
  json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", "j-worker-0"}}},
              {"spec", {{"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
  play.call(Verb::kCreate, kPods, "", pod);
  play.create(job_json("j", {{"Worker", 1}}));
  play.advance(1);
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
  EXPECT_TRUE(play.has_event("FailedCreatePod", "belongs to nobody"));
}

TEST_P(OperatorTest, WaitsUntilWhatAJobOfTheSameNameLeftIsGone) {
  play.create(job_json("j", {{"Worker", 1}}));
  play.run_all();
  const std::string before = play.uid("j-worker-0");
  play.call(Verb::kDelete, kTfJobs, "j", json::object());
  play.create(job_json("j", {{"Worker", 1}}));
  EXPECT_EQ(play.uid("j-worker-0"), before);
  play.api.collect_garbage();
  play.finish_deletions();
  play.advance(20);
  EXPECT_NE(play.uid("j-worker-0"), before);
  EXPECT_EQ(play.conditions("j"), "Created");
}

TEST_P(OperatorTest, StopsWhenTheJobIsDeleted) {
  play.create(job_json("j", {{"Worker", 2}}));
  play.run_all();
  play.remove_job("j");
  play.finish_deletions();
  play.advance(5);
  EXPECT_THAT(play.pods(), IsEmpty());
  EXPECT_THAT(play.names(kSecrets), IsEmpty());
}

}  // namespace
}  // namespace capstan::jobs::k8s
