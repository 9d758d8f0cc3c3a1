#include "k8s/api_suite.h"

namespace capstan::jobs::k8s {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ApiObjects : public ApiSuite {};

INSTANTIATE_TEST_SUITE_P(Api, ApiObjects, testing::Values(ApiKind::kMemory, ApiKind::kServer),
                         kind_name);

TEST_P(ApiObjects, GetWhatTheServerGives) {
  const json object = widget("w");
  const json& metadata = object["metadata"];
  EXPECT_FALSE(metadata["uid"].get<std::string>().empty());
  EXPECT_FALSE(version(object).empty());
  EXPECT_TRUE(metadata["creationTimestamp"].get<std::string>().ends_with("Z"));
  EXPECT_EQ(metadata["generation"], 1);
  EXPECT_EQ(metadata["namespace"], host->space());
  EXPECT_EQ(object["kind"], "Widget");
  EXPECT_EQ(object["apiVersion"], "suite.capstan.example/v1");
  const ApiAnswer read = get(kWidgets, "w");
  EXPECT_EQ(read.code, 200);
  EXPECT_EQ(version(*read.body), version(object));
}

TEST_P(ApiObjects, AreMadeOnce) {
  EXPECT_EQ(create(kPods, pod_body("p")).code, 201);
  const ApiAnswer second = create(kPods, pod_body("p"));
  EXPECT_EQ(second.code, 409);
  EXPECT_EQ(second.error->code(), Code::kAlreadyExists);
  EXPECT_THAT(second.error->message(), HasSubstr("/p"));
}

TEST_P(ApiObjects, ThatAreNotThereAreNotFound) {
  for (Verb verb : {Verb::kGet, Verb::kDelete}) {
    const ApiAnswer answer = on(verb, kPods, "nothing");
    EXPECT_EQ(answer.code, 404);
    EXPECT_EQ(answer.error->code(), Code::kNotFound);
  }
  const ApiAnswer patch = on(Verb::kMergePatch, kWidgets, "nothing", {{"spec", {{"size", 2}}}});
  EXPECT_EQ(patch.code, 404);
}

TEST_P(ApiObjects, MayGetTheirNameFromTheServer) {
  json body = pod_body("");
  body["metadata"] = {{"generateName", "p-"}};
  const std::string first = made(kPods, body)["metadata"]["name"];
  const std::string second = made(kPods, body)["metadata"]["name"];
  EXPECT_THAT(first, StartsWith("p-"));
  EXPECT_EQ(first.size(), 7u);
  EXPECT_NE(first, second);
}

TEST_P(ApiObjects, WithBadNamesOrLabelsAreRefused) {
  for (const char* name : {"Upper", "a_b", "-a", "a b"}) {
    const ApiAnswer answer = create(kPods, pod_body(name));
    EXPECT_EQ(answer.code, 422) << name;
    EXPECT_EQ(answer.error->code(), Code::kInvalidArgument);
  }
  json long_label = pod_body("p");
  long_label["metadata"]["labels"] = {{"a", std::string(64, 'x')}};
  EXPECT_EQ(create(kPods, long_label).code, 422);
  json service = {{"metadata", {{"name", std::string(64, 'x')}}},
                  {"spec", {{"clusterIP", "None"}, {"ports", {{{"port", 2222}}}}}}};
  EXPECT_EQ(create(kServices, service).code, 422);
  service["metadata"]["name"] = "1x";
  EXPECT_EQ(create(kServices, service).code, 422);
}

TEST_P(ApiObjects, ThatChangedMeanwhileAreNotOverwritten) {
  json mine = widget("w");
  json theirs = mine;
  theirs["spec"]["size"] = 2;
  EXPECT_EQ(on(Verb::kUpdate, kWidgets, "w", theirs).code, 200);
  mine["spec"]["size"] = 3;
  const ApiAnswer stale = on(Verb::kUpdate, kWidgets, "w", mine);
  EXPECT_EQ(stale.code, 409);
  EXPECT_EQ(stale.error->code(), Code::kAborted);
  mine["metadata"].erase("resourceVersion");
  EXPECT_EQ(on(Verb::kUpdate, kWidgets, "w", mine).code, 422);
  EXPECT_EQ((*get(kWidgets, "w").body)["spec"]["size"], 2);
}

TEST_P(ApiObjects, KeepTheirVersionWhenNothingChanges) {
  const json object = widget("w");
  const ApiAnswer same = on(Verb::kUpdate, kWidgets, "w", object);
  EXPECT_EQ(version(*same.body), version(object));
  const ApiAnswer patch = on(Verb::kMergePatch, kWidgets, "w", {{"spec", {{"size", 1}}}});
  EXPECT_EQ(version(*patch.body), version(object));
}

TEST_P(ApiObjects, OfAnotherUidAreNotOverwritten) {
  json object = widget("w");
  object["metadata"]["uid"] = "00000000-0000-4000-a000-000000000000";
  EXPECT_EQ(on(Verb::kUpdate, kWidgets, "w", object).code, 409);
}

TEST_P(ApiObjects, HaveAStatusApartFromTheirSpec) {
  json object = made(
      kWidgets,
      {{"metadata", {{"name", "w"}}}, {"spec", {{"size", 1}}}, {"status", {{"phase", "early"}}}});
  EXPECT_FALSE(object.contains("status"));
  object["status"] = {{"phase", "Running"}};
  object["spec"]["size"] = 2;
  const json by_status = *on(Verb::kUpdate, kWidgets, "w", object, "status").body;
  EXPECT_EQ(by_status["status"]["phase"], "Running");
  EXPECT_EQ(by_status["spec"]["size"], 1);
  EXPECT_EQ(by_status["metadata"]["generation"], 1);
  json again = by_status;
  again["status"]["phase"] = "Done";
  again["spec"]["size"] = 2;
  const json by_spec = *on(Verb::kUpdate, kWidgets, "w", again).body;
  EXPECT_EQ(by_spec["status"]["phase"], "Running");
  EXPECT_EQ(by_spec["spec"]["size"], 2);
  EXPECT_EQ(by_spec["metadata"]["generation"], 2);
}

TEST_P(ApiObjects, ArePatchedInParts) {
  const json object = widget("w", {{"a", "1"}, {"b", "2"}});
  const json patch = {{"metadata", {{"labels", {{"a", nullptr}, {"c", "3"}}}}},
                      {"spec", {{"more", {1, 2}}}}};
  const json patched = *on(Verb::kMergePatch, kWidgets, "w", patch).body;
  EXPECT_EQ(patched["metadata"]["labels"], (json{{"b", "2"}, {"c", "3"}}));
  EXPECT_EQ(patched["spec"], (json{{"size", 1}, {"more", {1, 2}}}));
  const json status =
      *on(Verb::kMergePatch, kWidgets, "w", {{"status", {{"x", 1}}}}, "status").body;
  EXPECT_EQ(status["status"]["x"], 1);
}

TEST_P(ApiObjects, ArePatchedOnlyInTheVersionThatThePatchNames) {
  const json object = widget("w");
  on(Verb::kMergePatch, kWidgets, "w", {{"spec", {{"size", 2}}}});
  const ApiAnswer stale =
      on(Verb::kMergePatch, kWidgets, "w",
         {{"metadata", {{"resourceVersion", version(object)}}}, {"spec", {{"size", 3}}}});
  EXPECT_EQ(stale.code, 409);
  EXPECT_EQ(stale.error->code(), Code::kAborted);
}

TEST_P(ApiObjects, GetTheirPhaseByTheStatusOfAPod) {
  made(kPods, pod_body("p"));
  EXPECT_EQ((*get(kPods, "p").body)["status"]["phase"], "Pending");
  const json status = {{"status", {{"phase", "Running"}, {"podIP", "10.1.2.3"}}}};
  EXPECT_TRUE(on(Verb::kMergePatch, kPods, "p", status, "status").ok());
  EXPECT_EQ((*get(kPods, "p").body)["status"]["phase"], "Running");
}

TEST_P(ApiObjects, AreListedByLabelsAndFields) {
  widget("w1", {{"app", "x"}});
  widget("w2", {{"app", "y"}});
  widget("w3", {{"app", "x"}, {"role", "ps"}});
  const auto by = [&](const std::string& labels) {
    return names(list(kWidgets, "labelSelector=" + query_escape(labels)));
  };
  EXPECT_THAT(names(list(kWidgets)), ElementsAre("w1", "w2", "w3"));
  EXPECT_THAT(by("app=x"), ElementsAre("w1", "w3"));
  EXPECT_THAT(by("app!=x"), ElementsAre("w2"));
  EXPECT_THAT(by("app in (x,z),role"), ElementsAre("w3"));
  EXPECT_THAT(by("!role"), ElementsAre("w1", "w2"));
  EXPECT_THAT(names(list(kWidgets, "fieldSelector=metadata.name%3Dw2")), ElementsAre("w2"));
  EXPECT_EQ(list(kWidgets, "fieldSelector=spec.size%3D1").code, 400);
  made(kPods, pod_body("p1", "n1"));
  made(kPods, pod_body("p2"));
  EXPECT_THAT(names(list(kPods, "fieldSelector=spec.nodeName%3Dn1")), ElementsAre("p1"));
}

TEST_P(ApiObjects, OfTheServersOwnKindsSayNoKindInLists) {
  made(kPods, pod_body("p"));
  widget("w");
  EXPECT_FALSE((*list(kPods).body)["items"][0].contains("kind"));
  EXPECT_EQ((*list(kWidgets).body)["items"][0]["kind"], "Widget");
}

TEST_P(ApiObjects, AreListedPageByPageAsTheyStoodAtFirst) {
  for (int i = 0; i < 5; ++i) widget("w" + std::to_string(i));
  const ApiAnswer first = list(kWidgets, "limit=2");
  widget("w9");
  const std::string token = (*first.body)["metadata"]["continue"];
  const ApiAnswer second = list(kWidgets, "limit=2&continue=" + query_escape(token));
  const std::string next = (*second.body)["metadata"]["continue"];
  const ApiAnswer third = list(kWidgets, "limit=2&continue=" + query_escape(next));
  EXPECT_THAT(names(first), ElementsAre("w0", "w1"));
  EXPECT_THAT(names(second), ElementsAre("w2", "w3"));
  EXPECT_THAT(names(third), ElementsAre("w4"));
  EXPECT_EQ((*third.body)["metadata"].value("continue", ""), "");
  EXPECT_EQ(version(*first.body), version(*third.body));
}

TEST_P(ApiObjects, InEmptyListsAreNone) {
  const ApiAnswer answer = list(kWidgets);
  EXPECT_EQ(answer.code, 200);
  EXPECT_THAT((*answer.body)["items"], IsEmpty());
  EXPECT_FALSE(version(*answer.body).empty());
}

TEST_P(ApiObjects, AreSentManyAtATime) {
  int done = 0;
  for (int i = 0; i < 200; ++i) {
    json body = {{"apiVersion", "suite.capstan.example/v1"},
                 {"kind", "Widget"},
                 {"metadata", {{"name", "w" + std::to_string(i)}}}};
    host->api().call({.verb = Verb::kCreate,
                      .resource = kWidgets,
                      .object = {host->space(), ""},
                      .body = shared(body)},
                     [&](const ApiAnswer& answer) { done += answer.ok(); });
  }
  EXPECT_TRUE(host->run_until([&] { return done == 200; })) << done;
  EXPECT_EQ(names(list(kWidgets)).size(), 200u);
}

}  // namespace
}  // namespace capstan::jobs::k8s
