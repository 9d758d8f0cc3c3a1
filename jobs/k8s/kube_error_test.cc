#include "jobs/k8s/kube_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace capstan::jobs::k8s {
namespace {

using testing::HasSubstr;
using testing::Not;

const Asked kListPods = {"list", kPods, "", {"train", ""}};

TEST(KubeError, SaysWhatWasAsked) {
  EXPECT_EQ(text_of(kListPods), "list pods in namespace train");
  EXPECT_EQ(text_of(asked_of({Verb::kGet, kTfJobs, {"", ""}})),
            "list tfjobs.kubeflow.org in all namespaces");
  EXPECT_EQ(text_of(asked_of({Verb::kUpdate, kTfJobs, {"a", "j"}, "status"})),
            "update tfjobs.kubeflow.org/status a/j");
  EXPECT_EQ(text_of(asked_of({Verb::kGet, kNodes, {}})), "list nodes");
  EXPECT_EQ(text_of(asked_of({Verb::kDelete, kPods, {"a", "x\x1b[2J"}})),
            "delete pods a/x\\x1b[2J");
}

TEST(KubeError, GivesTheRuleThatIsMissing) {
  const auto status =
      status_json(403, "Forbidden",
                  R"(pods is forbidden: User "u" cannot list resource "pods" in API group "")");
  const Error error = refusal(kListPods, 403, &status);
  EXPECT_EQ(error.code(), Code::kPermissionDenied);
  EXPECT_THAT(error.message(), HasSubstr(R"(User "u" cannot list)"));
  EXPECT_THAT(error.message(),
              HasSubstr(R"(- {apiGroups: [""], resources: ["pods"], verbs: ["list"]})"));
  EXPECT_THAT(error.message(), HasSubstr("Role in namespace train"));
}

TEST(KubeError, GivesTheRuleForASubresourceAndForAllNamespaces) {
  const Asked asked{"patch", kTfJobs, "status", {}};
  const Error error = refusal(asked, 403, nullptr);
  EXPECT_THAT(error.message(), HasSubstr(R"(["kubeflow.org"], resources: ["tfjobs/status"])"));
  EXPECT_THAT(error.message(), HasSubstr("ClusterRole"));
}

TEST(KubeError, GivesTheRuleForTheVerbThatTheServerNames) {
  const auto status = status_json(
      403, "Forbidden",
      R"(tfjobs.kubeflow.org "j" is forbidden: User "u" cannot create resource "tfjobs" in API group)");
  const Error error = refusal(asked_of({Verb::kApply, kTfJobs, {"a", "j"}}), 403, &status);
  EXPECT_THAT(error.message(), HasSubstr("cannot patch tfjobs.kubeflow.org a/j"));
  EXPECT_THAT(error.message(), HasSubstr(R"(verbs: ["create"])"));
}

TEST(KubeError, NamesNoRuleWhereNoneHelps) {
  const auto status = status_json(403, "Forbidden", "exceeded quota: compute");
  EXPECT_THAT(refusal(kListPods, 403, &status).message(), Not(HasSubstr("rule")));
}

TEST(KubeError, TellsAConflictFromAnObjectThatIsThere) {
  const auto there = status_json(409, "AlreadyExists", "pods \"p\" already exists");
  const auto conflict = status_json(409, "Conflict", "the object has been modified");
  const Asked asked = asked_of({Verb::kCreate, kPods, {"a", "p"}});
  EXPECT_EQ(refusal(asked, 409, &there).code(), Code::kAlreadyExists);
  EXPECT_EQ(refusal(asked, 409, &conflict).code(), Code::kAborted);
}

TEST(KubeError, AsksForTheCrdWhenTheWholeKindIsUnknown) {
  const nlohmann::json plain = "404 page not found\n";
  const Asked asked = asked_of({Verb::kGet, kTfJobs, {"a", "j"}});
  EXPECT_THAT(refusal(asked, 404, &plain).message(),
              HasSubstr("Is the CRD of tfjobs.kubeflow.org installed, with version v1?"));
  auto status = status_json(404, "NotFound", "tfjobs.kubeflow.org \"j\" not found");
  status["details"]["name"] = "j";
  EXPECT_THAT(refusal(asked, 404, &status).message(), Not(HasSubstr("CRD")));
}

TEST(KubeError, HasACodeForEveryAnswer) {
  EXPECT_EQ(refusal(kListPods, 429, nullptr).code(), Code::kUnavailable);
  EXPECT_EQ(refusal(kListPods, 503, nullptr).code(), Code::kUnavailable);
  EXPECT_EQ(refusal(kListPods, 410, nullptr).code(), Code::kOutOfRange);
  EXPECT_EQ(refusal(kListPods, 401, nullptr).code(), Code::kUnauthenticated);
  EXPECT_EQ(refusal(kListPods, 422, nullptr).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal(kListPods, 418, nullptr).code(), Code::kUnknown);
  EXPECT_EQ(not_reached(kListPods, "refused").code(), Code::kUnavailable);
}

}  // namespace
}  // namespace capstan::jobs::k8s
