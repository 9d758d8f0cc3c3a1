#include "jobs/k8s/other_operator.h"

#include <gmock/gmock.h>

#include "jobs/k8s/operator_play.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

json written_by(const char* manager, const char* subresource = "status",
                const char* field = "f:conditions") {
  const json entry = {{"manager", manager},
                      {"operation", "Update"},
                      {"subresource", subresource},
                      {"fieldsV1", {{"f:status", {{field, json::object()}}}}}};
  return {{"metadata", {{"managedFields", json::array({entry})}}}};
}

TEST(OtherOperator, IsWhoeverElseWritesTheConditions) {
  EXPECT_EQ(other_operator(written_by("training-operator.v1")), "training-operator.v1");
  EXPECT_EQ(other_operator(written_by("manager")), "manager");
}

TEST(OtherOperator, IsNeitherUsNorAPersonNorWhoeverWritesOtherFields) {
  EXPECT_EQ(other_operator(written_by("capstan")), "");
  EXPECT_EQ(other_operator(written_by("kubectl-edit")), "");
  EXPECT_EQ(other_operator(written_by("manager", "")), "");
  EXPECT_EQ(other_operator(written_by("manager", "status", "f:replicaStatuses")), "");
  EXPECT_EQ(other_operator(json::object()), "");
}

TEST(OtherOperator, HasAJobThatItBegan) {
  OperatorPlay play;
  json job = job_json("j", {{"Worker", 1}});
  job["metadata"].update(written_by("manager")["metadata"]);
  play.create(job);
  EXPECT_THAT(play.pods(), IsEmpty());
  EXPECT_FALSE(play.job("j").contains("status"));
  EXPECT_TRUE(play.has_event("TFJobOfAnotherOperator", "manager writes the status"));
}

TEST(OtherOperator, GetsAJobThatBothBegan) {
  OperatorPlay play;
  play.create(job_json("j", {{"Worker", 1}}));
  play.run_all();
  EXPECT_EQ(play.conditions("j"), "Created, Running");
  play.update("j", written_by("manager"));
  play.api.clear_history();
  play.end_pod("j-worker-0", 0);
  play.advance(10);
  EXPECT_EQ(play.conditions("j"), "Created, Running");  // the other one says how it goes on
  play.remove_pod("j-worker-0");
  play.advance(10);
  EXPECT_THAT(play.pods(), IsEmpty());
  EXPECT_EQ(play.creations("pods"), 0);
}

TEST(OtherOperator, LosesItsJobsToOneThatTakesOver) {
  OperatorOptions options;
  options.cluster.take_over = true;
  OperatorPlay play(options);
  json job = job_json("j", {{"Worker", 1}});
  job["metadata"].update(written_by("manager")["metadata"]);
  play.create(job);
  EXPECT_THAT(play.pods(), ElementsAre("j-worker-0"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
