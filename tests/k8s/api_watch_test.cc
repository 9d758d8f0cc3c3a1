#include "base/random.h"
#include "jobs/k8s/events.h"
#include "jobs/k8s/informer.h"
#include "jobs/k8s/lease.h"
#include "k8s/api_suite.h"

namespace capstan::jobs::k8s {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ApiWatch : public ApiSuite {
 protected:
  // From now on.
  std::unique_ptr<Watch> watch_on(const Resource& resource, const std::string& query = "") {
    return watch(resource, "resourceVersion=" + version(*list(resource).body) + "&" + query);
  }
};

INSTANTIATE_TEST_SUITE_P(Api, ApiWatch, testing::Values(ApiKind::kMemory, ApiKind::kServer),
                         kind_name);

TEST_P(ApiWatch, TellsChangesInTheirOrder) {
  widget("old");
  const auto open = watch_on(kWidgets);
  widget("w");
  on(Verb::kMergePatch, kWidgets, "w", {{"spec", {{"size", 2}}}});
  on(Verb::kDelete, kWidgets, "w");
  ASSERT_TRUE(sees(3));
  EXPECT_THAT(events.all, ElementsAre("ADDED w", "MODIFIED w", "DELETED w"));
  EXPECT_EQ(events.objects[1]["spec"]["size"], 2);
  EXPECT_EQ(events.objects[0]["kind"], "Widget");
  EXPECT_LT(std::stoull(version(events.objects[1])), std::stoull(version(events.objects[2])));
}

TEST_P(ApiWatch, GoesOnFromAnyVersionThatItTold) {
  {
    const auto open = watch_on(kPods);
    for (const char* name : {"p1", "p2"}) made(kPods, pod_body(name));
    ASSERT_TRUE(sees(2));
  }
  const std::string first = version(events.objects[0]);
  made(kPods, pod_body("p3"));
  events.all.clear();
  const auto again = watch(kPods, "resourceVersion=" + first);
  ASSERT_TRUE(sees(2));
  EXPECT_THAT(events.all, ElementsAre("ADDED p2", "ADDED p3"));
  EXPECT_EQ(events.objects.back()["kind"], "Pod");
}

TEST_P(ApiWatch, GoesOnFromTheVersionOfADeletion) {
  widget("w1");
  {
    const auto open = watch_on(kWidgets);
    on(Verb::kDelete, kWidgets, "w1");
    ASSERT_TRUE(sees(1));
  }
  const auto again = watch(kWidgets, "resourceVersion=" + version(events.objects[0]));
  widget("w2");
  ASSERT_TRUE(sees(2));
  EXPECT_THAT(events.all, ElementsAre("DELETED w1", "ADDED w2"));
}

TEST_P(ApiWatch, TellsOnlyWhatIsPickedAndWhatNoLongerIs) {
  const auto open = watch_on(kWidgets, "labelSelector=app%3Dx");
  widget("other", {{"app", "y"}});
  widget("w", {{"app", "x"}});
  on(Verb::kMergePatch, kWidgets, "w", {{"metadata", {{"labels", {{"app", "y"}}}}}});
  on(Verb::kMergePatch, kWidgets, "w", {{"metadata", {{"labels", {{"app", "x"}}}}}});
  on(Verb::kDelete, kWidgets, "w");
  ASSERT_TRUE(sees(4));
  EXPECT_THAT(events.all, ElementsAre("ADDED w", "DELETED w", "ADDED w", "DELETED w"));
}

TEST_P(ApiWatch, BeginsWithWhatIsThereIfNoVersionIsNamed) {
  widget("w1");
  widget("w2");
  const auto open = watch(kWidgets, "");
  ASSERT_TRUE(sees(2));
  widget("w3");
  ASSERT_TRUE(sees(3));
  EXPECT_THAT(events.all, testing::UnorderedElementsAre("ADDED w1", "ADDED w2", "ADDED w3"));
}

TEST_P(ApiWatch, IsEndedByTheServerWhenItsTimeIsOver) {
  const auto open = watch_on(kWidgets, "timeoutSeconds=1");
  ASSERT_TRUE(host->run_until([&] { return events.end.has_value(); }));
  EXPECT_EQ(*events.end, 200);
  EXPECT_EQ(events.why, "");
}

TEST_P(ApiWatch, FromAVersionThatIsForgottenIsGone) {
  const auto open = watch(kWidgets, "resourceVersion=1");
  ASSERT_TRUE(host->run_until([&] { return events.end.has_value(); }));
  EXPECT_EQ(*events.end, 410);
  EXPECT_THAT(events.why, HasSubstr("too old resource version"));
  EXPECT_THAT(events.all, IsEmpty());
}

TEST_P(ApiWatch, TellsAPodThatIsDying) {
  made(kPods, pod_body("p", "n1"));
  const auto open = watch_on(kPods);
  on(Verb::kDelete, kPods, "p");
  on(Verb::kDelete, kPods, "p", {{"gracePeriodSeconds", 0}});
  ASSERT_TRUE(
      host->run_until([&] { return !events.all.empty() && events.all.back() == "DELETED p"; }));
  EXPECT_EQ(events.all[0], "MODIFIED p");
  EXPECT_TRUE(events.objects[0]["metadata"].contains("deletionTimestamp"));
}

class Known : public InformerSink {
 public:
  void added_or_changed(nlohmann::json&& object) override {
    names[object["metadata"]["name"]] = object["metadata"]["resourceVersion"];
  }
  void removed(const ObjectName& object, std::string_view) override { names.erase(object.name); }
  void synced() override { ++lists; }
  void troubled(const Error& error) override { trouble = error.message(); }
  std::map<std::string, std::string> names;
  int lists = 0;
  std::string trouble;
};

TEST_P(ApiWatch, KeepsAnInformerUpToDate) {
  for (int i = 0; i < 7; ++i) widget("w" + std::to_string(i));
  Known known;
  SystemRandom random;
  Informer informer(host->api(), host->loop(), random, kWidgets,
                    {.space = host->space(), .page = 3, .watch_seconds = 1}, known);
  informer.start();
  ASSERT_TRUE(host->run_until([&] { return known.lists == 1; }));
  EXPECT_EQ(known.names.size(), 7u);
  // Across several watches, each of which the server ends.
  for (int i = 0; i < 25; ++i) {
    const json changed =
        *on(Verb::kMergePatch, kWidgets, "w3", {{"spec", {{"size", i + 10}}}}).body;
    EXPECT_TRUE(host->run_until([&] { return known.names["w3"] == version(changed); }));
    bool later = false;
    host->loop().at(host->loop().now() + std::chrono::milliseconds(100), [&] { later = true; });
    host->run_until([&] { return later; });
  }
  on(Verb::kDelete, kWidgets, "w5");
  EXPECT_TRUE(host->run_until([&] { return informer.size() == 6; }));
  EXPECT_EQ(known.lists, 1);
  EXPECT_EQ(known.trouble, "");
}

class Candidate : public LeaseHolder {
 public:
  Candidate(ApiHost& host, const std::string& name)
      : election(host.api(), host.loop(), random_,
                 {.lease = {host.space(), "capstan"}, .identity = name}, *this) {
    election.start();
  }
  void leads() override {}
  void leads_no_more(const Error&) override {}
  void follows(const std::string& identity) override { followed = identity; }
  void troubled(const Error& error) override { trouble = error.message(); }

 private:
  SystemRandom random_;

 public:
  std::string followed, trouble;
  LeaderElection election;
};

TEST_P(ApiWatch, HasALeaseThatOneOfTwoHolds) {
  Candidate a(*host, "a");
  ASSERT_TRUE(host->run_until([&] { return a.election.leads(); })) << a.trouble;
  Candidate b(*host, "b");
  ASSERT_TRUE(host->run_until([&] { return b.followed == "a"; })) << b.trouble;
  bool released = false;
  a.election.release([&] { released = true; });
  EXPECT_TRUE(host->run_until([&] { return b.election.leads(); })) << b.trouble;
  EXPECT_TRUE(released);
}

TEST_P(ApiWatch, TakesEventsAndTheirCounts) {
  const json about = widget("w");
  SystemRandom random;
  EventRecorder recorder(host->api(), host->loop(), random);
  const EventTarget target{
      .resource = kWidgets, .object = {host->space(), "w"}, .uid = about["metadata"]["uid"]};
  for (int i = 0; i < 3; ++i) {
    recorder.record(target, EventType::kWarning, "Tested", "again");
    EXPECT_TRUE(host->run_until([&] { return recorder.idle(); }));
  }
  EXPECT_EQ(recorder.dropped(), 0u);
  const json items = (*list(kEvents, "fieldSelector=involvedObject.name%3Dw").body)["items"];
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0]["count"], 3);
}

}  // namespace
}  // namespace capstan::jobs::k8s
