#include "k8s/api_suite.h"

namespace capstan::jobs::k8s {
namespace {

using testing::ElementsAre;

class ApiDeletion : public ApiSuite {
 protected:
  bool is_there(const Resource& resource, const std::string& name) {
    return get(resource, name).code == 200;
  }
};

INSTANTIATE_TEST_SUITE_P(Api, ApiDeletion, testing::Values(ApiKind::kMemory, ApiKind::kServer),
                         kind_name);

TEST_P(ApiDeletion, OfAPodWithoutANodeIsAtOnce) {
  made(kPods, pod_body("p"));
  EXPECT_EQ(on(Verb::kDelete, kPods, "p").code, 200);
  EXPECT_FALSE(is_there(kPods, "p"));
}

TEST_P(ApiDeletion, OfAPodOnANodeIsTheNodesPart) {
  made(kPods, pod_body("p", "n1"));
  EXPECT_EQ(on(Verb::kDelete, kPods, "p").code, 200);
  const json dying = *get(kPods, "p").body;
  EXPECT_TRUE(dying["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(dying["metadata"]["deletionGracePeriodSeconds"], 30);
  EXPECT_EQ(on(Verb::kDelete, kPods, "p").code, 200);
  EXPECT_EQ(version(*get(kPods, "p").body), version(dying));
  on(Verb::kDelete, kPods, "p", {{"gracePeriodSeconds", 5}});
  EXPECT_EQ((*get(kPods, "p").body)["metadata"]["deletionGracePeriodSeconds"], 5);
  EXPECT_EQ(on(Verb::kDelete, kPods, "p", {{"gracePeriodSeconds", 0}}).code, 200);
  EXPECT_FALSE(is_there(kPods, "p"));
}

TEST_P(ApiDeletion, MayBeHurriedByTheQuery) {
  made(kPods, pod_body("p", "n1"));
  on(Verb::kDelete, kPods, "p", nullptr, "", "gracePeriodSeconds=0");
  EXPECT_FALSE(is_there(kPods, "p"));
}

TEST_P(ApiDeletion, OfAPodThatHasEndedIsAtOnce) {
  made(kPods, pod_body("p", "n1"));
  on(Verb::kMergePatch, kPods, "p", {{"status", {{"phase", "Succeeded"}}}}, "status");
  on(Verb::kDelete, kPods, "p");
  EXPECT_FALSE(is_there(kPods, "p"));
}

TEST_P(ApiDeletion, IsOfTheObjectThatWasMeant) {
  const json first = widget("w");
  on(Verb::kDelete, kWidgets, "w");
  const json second = widget("w");
  EXPECT_NE(first["metadata"]["uid"], second["metadata"]["uid"]);
  const ApiAnswer wrong =
      on(Verb::kDelete, kWidgets, "w", {{"preconditions", {{"uid", first["metadata"]["uid"]}}}});
  EXPECT_EQ(wrong.code, 409);
  EXPECT_TRUE(is_there(kWidgets, "w"));
  EXPECT_EQ(
      on(Verb::kDelete, kWidgets, "w", {{"preconditions", {{"uid", second["metadata"]["uid"]}}}})
          .code,
      200);
}

TEST_P(ApiDeletion, OfAVersionThatIsOldIsRefused) {
  const json object = widget("w");
  on(Verb::kMergePatch, kWidgets, "w", {{"spec", {{"size", 2}}}});
  EXPECT_EQ(
      on(Verb::kDelete, kWidgets, "w", {{"preconditions", {{"resourceVersion", version(object)}}}})
          .code,
      409);
}

TEST_P(ApiDeletion, WaitsForFinalizers) {
  made(kWidgets, {{"metadata", {{"name", "w"}, {"finalizers", {"capstan.example/hold"}}}}});
  EXPECT_EQ(on(Verb::kDelete, kWidgets, "w").code, 200);
  EXPECT_TRUE((*get(kWidgets, "w").body)["metadata"].contains("deletionTimestamp"));
  EXPECT_TRUE(on(Verb::kMergePatch, kWidgets, "w", {{"metadata", {{"finalizers", nullptr}}}}).ok());
  EXPECT_FALSE(is_there(kWidgets, "w"));
}

TEST_P(ApiDeletion, MayBeOfAllThatASelectorPicks) {
  widget("w1", {{"app", "x"}});
  widget("w2", {{"app", "y"}});
  widget("w3", {{"app", "x"}});
  EXPECT_EQ(on(Verb::kDelete, kWidgets, "", nullptr, "", "labelSelector=app%3Dx").code, 200);
  EXPECT_THAT(names(list(kWidgets)), ElementsAre("w2"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
