// Jobs whose pods are placed together, by a scheduler that knows PodGroups.

#include <gmock/gmock.h>

#include "jobs/k8s/job_extras_maker.h"
#include "jobs/k8s/operator_play.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

const Resource kGroups = pod_groups("volcano");

class GangTest : public testing::TestWithParam<bool> {
 protected:
  GangTest() { play.replaces = GetParam(); }

  json group() { return play.get(kGroups, "j"); }
  void set_group(const json& status) {
    play.call(Verb::kMergePatch, kGroups, "j", {{"status", status}}, "status");
    play.advance(1);
  }

  OperatorPlay play{OperatorOptions{.cluster = {.gang_scheduler = "volcano"}}};
};
INSTANTIATE_TEST_SUITE_P(Operators, GangTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "many" : "one"; });

TEST_P(GangTest, MakesPodsOnceTheirGroupHasRoom) {
  play.create(job_json("j", {{"PS", 1}, {"Worker", 2}}));
  EXPECT_EQ(group()["spec"]["minMember"], 3);
  EXPECT_EQ(group()["metadata"]["ownerReferences"][0]["uid"], play.job("j")["metadata"]["uid"]);
  set_group({{"phase", "Pending"}});
  EXPECT_THAT(play.pods(), IsEmpty());
  set_group({{"phase", "Inqueue"}});
  EXPECT_THAT(play.pods(), ElementsAre("j-ps-0", "j-worker-0", "j-worker-1"));
}

TEST_P(GangTest, SaysWhyTheGroupWaits) {
  play.create(job_json("j", {{"Worker", 2}}));
  const json why = {{"type", "Unschedulable"}, {"status", "True"}, {"message", "no GPU is free"}};
  set_group({{"phase", "Pending"}, {"conditions", {why}}});
  EXPECT_TRUE(play.has_event("Unschedulable", "no GPU is free"));
}

TEST_P(GangTest, AsksForLessWhenTheJobDoes) {
  play.create(job_json("j", {{"Worker", 2}}, {{"schedulingPolicy", {{"minAvailable", 10}}}}));
  EXPECT_EQ(group()["spec"]["minMember"], 10);
  const std::string uid = group()["metadata"]["uid"];
  play.update("j", {{"spec", {{"runPolicy", {{"schedulingPolicy", {{"minAvailable", 1}}}}}}}});
  EXPECT_EQ(group()["spec"]["minMember"], 1);
  EXPECT_EQ(group()["metadata"]["uid"], uid);
}

TEST_P(GangTest, AsksAgainWhatTheServerRefusedForTheMoment) {
  play.create(job_json("j", {{"Worker", 2}}));
  play.api.plan({.matches = [](const ApiCall& call) { return call.resource == kGroups; },
                 .times = 2,
                 .code = 500});
  play.update("j", {{"spec", {{"tfReplicaSpecs", {{"Worker", {{"replicas", 3}}}}}}}});
  play.advance(5);
  EXPECT_EQ(group()["spec"]["minMember"], 3);
}

TEST_P(GangTest, HasNoGroupAnyMoreAfterTheEnd) {
  play.create(job_json("j", {{"Worker", 1}}));
  set_group({{"phase", "Running"}});
  play.run_all();
  play.end_pod("j-worker-0", 0);
  EXPECT_EQ(play.conditions("j"), "Created, Succeeded");
  EXPECT_TRUE(group().is_null());
  EXPECT_TRUE(play.has_event("SuccessfulDeletePodGroup"));
}

TEST_P(GangTest, GivesItsRoomBackWhileItIsSuspended) {
  play.create(job_json("j", {{"Worker", 1}}));
  set_group({{"phase", "Running"}});
  play.run_all();
  play.update("j", {{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  play.finish_deletions();
  EXPECT_TRUE(group().is_null());
  play.update("j", {{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  EXPECT_FALSE(group().is_null());
  EXPECT_THAT(play.pods(), IsEmpty());
  set_group({{"phase", "Inqueue"}});
  EXPECT_THAT(play.pods(), ElementsAre("j-worker-0"));
}

TEST_P(GangTest, MakesTheGroupAgainThatSomebodyRemoved) {
  play.create(job_json("j", {{"Worker", 1}}));
  play.call(Verb::kDelete, kGroups, "j", json::object());
  play.advance(1);
  EXPECT_FALSE(group().is_null());
}

TEST_P(GangTest, KeepsAnotherSchedulerOfATemplateAndWarns) {
  json job = job_json("j", {{"Worker", 1}});
  job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["schedulerName"] = "mine";
  play.create(job);
  set_group({{"phase", "Inqueue"}});
  EXPECT_EQ(play.get(kPods, "j-worker-0")["spec"]["schedulerName"], "mine");
  EXPECT_TRUE(play.has_event("SetPodTemplateSchedulerName", "mine"));
}

TEST(Gang, OfAnotherSchedulerHasItsPodsAtOnce) {
  OperatorPlay play{OperatorOptions{.cluster = {.gang_scheduler = "gang"}}};
  play.create(job_json("j", {{"Worker", 2}}));
  EXPECT_THAT(play.pods(), ElementsAre("j-worker-0", "j-worker-1"));
  EXPECT_EQ(play.get(pod_groups("gang"), "j")["spec"]["minMember"], 2);
}

}  // namespace
}  // namespace capstan::jobs::k8s
