#include "jobs/k8s/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "jobs/fake_platform.h"
#include "jobs/k8s/memory_api.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Told : public InformerSink {
 public:
  void added_or_changed(json&& object) override {
    const json& metadata = object["metadata"];
    all.push_back("put " + metadata["name"].get<std::string>());
    known[metadata["name"]] = metadata["uid"];
  }
  void removed(const ObjectName& object, std::string_view uid) override {
    all.push_back("removed " + object.name);
    EXPECT_EQ(known[object.name], uid);
    known.erase(object.name);
  }
  void synced() override { all.push_back("synced"); }
  void troubled(const Error& error) override { all.push_back("troubled: " + error.message()); }

  std::vector<std::string> take() { return std::exchange(all, {}); }
  std::vector<std::string> all;
  std::map<std::string, std::string> known;
};

class InformerTest : public testing::Test {
 protected:
  void create(const std::string& name, const std::string& app = "x") {
    json pod = {{"metadata", {{"name", name}, {"labels", {{"app", app}}}}}};
    EXPECT_TRUE(api.now({.verb = Verb::kCreate,
                         .resource = kPods,
                         .object = {"a", ""},
                         .body = std::make_shared<json>(pod)})
                    .ok());
  }
  void change(const std::string& name, json patch) {
    EXPECT_TRUE(api.now({.verb = Verb::kMergePatch,
                         .resource = kPods,
                         .object = {"a", name},
                         .body = std::make_shared<json>(std::move(patch))})
                    .ok());
  }
  void remove(const std::string& name) {
    EXPECT_TRUE(api.now({.verb = Verb::kDelete, .resource = kPods, .object = {"a", name}}).ok());
  }
  int lists() const {
    return int(std::ranges::count_if(
        api.history(), [](const std::string& call) { return call.starts_with("list"); }));
  }
  void start() {
    informer.start();
    loop.advance(0.001);
    told.take();
    api.clear_history();
  }

  FakeLoop loop;
  MemoryApi api{loop};
  SeededRandom random{7};
  Told told;
  Informer informer{api, loop, random, kPods, {.labels = "app=x", .page = 2}, told};
};

TEST_F(InformerTest, ListsPageByPageAndThenWatches) {
  for (const char* name : {"p1", "p2", "p3", "p4", "p5"}) create(name);
  create("other", "y");
  informer.start();
  EXPECT_THAT(told.all, IsEmpty());
  loop.advance(0.001);
  EXPECT_THAT(told.take(), ElementsAre("put p1", "put p2", "put p3", "put p4", "put p5", "synced"));
  EXPECT_EQ(lists(), 3);
  create("p6");
  change("p1", {{"spec", {{"nodeName", "n"}}}});
  remove("p2");
  loop.advance(0.001);
  EXPECT_THAT(told.take(), ElementsAre("put p6", "put p1", "removed p2"));
  EXPECT_EQ(informer.size(), 5u);
}

TEST_F(InformerTest, TellsWhatIsNoLongerPicked) {
  create("p");
  start();
  change("p", {{"metadata", {{"labels", {{"app", "y"}}}}}});
  loop.advance(0.001);
  EXPECT_THAT(told.take(), ElementsAre("removed p"));
}

TEST_F(InformerTest, GoesOnAfterABreakWithoutListing) {
  create("p");
  start();
  api.break_watches();
  create("q");
  loop.advance(1);
  EXPECT_THAT(told.take(), ElementsAre("put q"));
  EXPECT_EQ(lists(), 0);
}

TEST_F(InformerTest, GoesOnFromABookmarkWhenEverythingBeforeIsForgotten) {
  create("p");
  start();
  for (int i = 0; i < 3; ++i) create("other" + std::to_string(i), "y");
  api.send_bookmarks();
  loop.advance(0.001);
  api.compact();
  api.break_watches();
  create("q");
  loop.advance(1);
  EXPECT_THAT(told.take(), ElementsAre("put q"));
  EXPECT_EQ(lists(), 0);
}

TEST_F(InformerTest, ListsAgainAfterGoneAndTellsWhatVanished) {
  for (const char* name : {"p1", "p2", "p3"}) create(name);
  start();
  api.refuse_watches(true);
  api.break_watches();
  loop.advance(1);
  told.take();
  remove("p1");
  remove("p2");
  create("p2");
  create("p4");
  api.compact();
  create("p5");
  api.refuse_watches(false);
  loop.advance(5);
  EXPECT_THAT(told.take(),
              ElementsAre("removed p2", "put p2", "put p4", "put p5", "removed p1", "synced"));
  remove("p5");
  loop.advance(0.001);
  EXPECT_THAT(told.take(), ElementsAre("removed p5"));
}

TEST_F(InformerTest, ComesBackWithinTwoSecondsOfCalmHoweverLongTheStorm) {
  start();
  api.refuse_watches(true);
  api.break_watches();
  loop.advance(600);
  const auto calls = api.history().size();
  EXPECT_LT(calls, 700u);
  EXPECT_GT(calls, 250u);
  told.take();
  api.refuse_watches(false);
  create("p");
  loop.advance(2.1);
  EXPECT_THAT(told.take(), ElementsAre("put p"));
}

TEST_F(InformerTest, SpeaksOfABreakdownOnce) {
  api.plan({.times = 5, .code = 503});
  create("p");
  informer.start();
  loop.advance(10);
  EXPECT_THAT(told.take(), ElementsAre(HasSubstr("troubled: cannot list pods"), "put p", "synced"));
  api.refuse_watches(true);
  api.break_watches();
  loop.advance(10);
  EXPECT_THAT(told.take(), ElementsAre(HasSubstr("troubled: cannot watch pods")));
}

TEST_F(InformerTest, SaysNothingOfASingleBreak) {
  start();
  for (int i = 0; i < 3; ++i) {
    loop.advance(5);
    api.break_watches();
    loop.advance(5);
  }
  EXPECT_THAT(told.take(), IsEmpty());
}

TEST_F(InformerTest, WaitsAsLongAsTheServerAsks) {
  api.plan({.times = 1, .code = 429, .retry_after = 3});
  informer.start();
  loop.advance(2.9);
  EXPECT_FALSE(informer.synced());
  loop.advance(0.2);
  EXPECT_TRUE(informer.synced());
}

TEST_F(InformerTest, ListsInOnePieceWhenPagesExpire) {
  for (const char* name : {"p1", "p2", "p3"}) create(name);
  api.plan(
      {.matches =
           [](const ApiCall& call) { return call.query.find("continue") != std::string::npos; },
       .times = 1,
       .code = 410});
  informer.start();
  loop.advance(1);
  EXPECT_THAT(told.take(), ElementsAre("put p1", "put p2", "put p3", "synced"));
}

TEST_F(InformerTest, DoesNotListInATightLoopWhenOnlyWatchingIsForbidden) {
  start();
  api.break_watches(403);
  loop.advance(0.3);
  EXPECT_LE(lists(), 3);
  EXPECT_THAT(told.take(), testing::Contains(HasSubstr("needs the rule")));
}

TEST_F(InformerTest, WatchesForWhatTheServerEndsAgain) {
  start();
  loop.advance(3000);
  EXPECT_THAT(api.history(), Each("watch pods in all namespaces"));
  EXPECT_GE(api.history().size(), 5u);
  EXPECT_LE(api.history().size(), 10u);
  create("p");
  loop.advance(0.2);
  EXPECT_THAT(told.take(), ElementsAre("put p"));
}

TEST_F(InformerTest, MayGoWhileAnAnswerIsUnderWay) {
  Told other;
  {
    Informer brief(api, loop, random, kPods, {}, other);
    brief.start();
  }
  loop.advance(1);
  EXPECT_THAT(other.all, IsEmpty());
  EXPECT_EQ(api.watches(), 0u);
}

}  // namespace
}  // namespace capstan::jobs::k8s
