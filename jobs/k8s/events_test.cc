#include "jobs/k8s/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "jobs/fake_platform.h"
#include "jobs/k8s/memory_api.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::SizeIs;

class EventsTest : public testing::Test {
 protected:
  std::vector<json> events() { return api.objects(kEvents); }
  void record(const std::string& reason, const std::string& message,
              const std::string& uid = "u1") {
    recorder.record({.resource = kTfJobs, .object = {"train", "mnist"}, .uid = uid},
                    EventType::kNormal, reason, message);
  }
  WallClock clock() {
    return [this] { return 1.7e9 + loop.seconds(); };
  }

  FakeLoop loop;
  MemoryApi api{loop};
  SeededRandom random{5};
  EventRecorder recorder{
      api, loop, random, {.queue = 10, .in_flight = 2, .remembered = 20}, clock()};
};

TEST_F(EventsTest, SayWhatHappenedToWhom) {
  record("SuccessfulCreatePod", "Created pod: mnist-ps-0");
  loop.advance(0.01);
  ASSERT_THAT(events(), SizeIs(1));
  const json event = events()[0];
  EXPECT_EQ(event["involvedObject"]["kind"], "TFJob");
  EXPECT_EQ(event["involvedObject"]["apiVersion"], "kubeflow.org/v1");
  EXPECT_EQ(event["involvedObject"]["uid"], "u1");
  EXPECT_EQ(event["metadata"]["namespace"], "train");
  EXPECT_EQ(event["reason"], "SuccessfulCreatePod");
  EXPECT_EQ(event["type"], "Normal");
  EXPECT_EQ(event["count"], 1);
  EXPECT_TRUE(recorder.idle());
}

TEST_F(EventsTest, AreCountedWhenTheyComeAgain) {
  for (int i = 0; i < 5; ++i) {
    record("TFJobRestarting", "again");
    loop.advance(1);
  }
  record("TFJobRestarting", "another");
  loop.advance(1);
  ASSERT_THAT(events(), SizeIs(2));
  const auto all = events();
  const json& five = all[0]["count"] == 5 ? all[0] : all[1];
  EXPECT_EQ(five["count"], 5);
  EXPECT_LT(five["firstTimestamp"], five["lastTimestamp"]);
}

TEST_F(EventsTest, ManyAtOnceAreOneCallWithTheirCount) {
  for (int i = 0; i < 100; ++i) record("Unhealthy", "the same");
  loop.advance(1);
  EXPECT_THAT(api.history(), SizeIs(2));
  EXPECT_EQ(events()[0]["count"], 100);
}

TEST_F(EventsTest, AreNewOnesAfterTenMinutes) {
  record("A", "m");
  loop.advance(601);
  record("A", "m");
  loop.advance(1);
  EXPECT_THAT(events(), SizeIs(2));
}

TEST_F(EventsTest, OfAnotherObjectOfTheSameNameAreOthers) {
  record("A", "m", "u1");
  record("A", "m", "u2");
  loop.advance(1);
  EXPECT_THAT(events(), SizeIs(2));
}

TEST_F(EventsTest, AreTriedAgainAndDroppedInTheEnd) {
  api.plan({.times = 2, .code = 503});
  record("A", "m");
  loop.advance(10);
  EXPECT_THAT(events(), SizeIs(1));
  api.plan({.times = 100, .code = 500});
  record("B", "m");
  loop.advance(100);
  EXPECT_EQ(recorder.dropped(), 1u);
  EXPECT_TRUE(recorder.idle());
}

TEST_F(EventsTest, AreNotTriedAgainWhereTheyAreForbidden) {
  api.plan({.times = 1, .code = 403});
  record("A", "m");
  loop.advance(10);
  EXPECT_THAT(api.history(), SizeIs(1));
  EXPECT_EQ(recorder.dropped(), 1u);
}

TEST_F(EventsTest, AreWrittenOnceThoughAnAnswerWasLost) {
  api.plan({.times = 1, .code = 0, .takes_effect = true});
  record("A", "m");
  loop.advance(10);
  ASSERT_THAT(events(), SizeIs(1));
  EXPECT_EQ(events()[0]["count"], 1);
  EXPECT_TRUE(recorder.idle());
}

TEST_F(EventsTest, AreMadeAnewWhenTheServerForgotThem) {
  record("A", "m");
  loop.advance(1);
  api.now({.verb = Verb::kDelete, .resource = kEvents, .object = {"train", ""}});
  record("A", "m");
  loop.advance(1);
  ASSERT_THAT(events(), SizeIs(1));
  EXPECT_EQ(events()[0]["count"], 2);
}

TEST_F(EventsTest, ThatAreTooManyAreDroppedAndCounted) {
  api.plan({.times = 2, .code = 200, .delay = 5});
  for (int i = 0; i < 30; ++i) record("A", "message " + std::to_string(i));
  EXPECT_EQ(recorder.dropped(), 18u);
  loop.advance(10);
  EXPECT_EQ(recorder.written(), 12u);
}

TEST_F(EventsTest, AreCutToWhatAServerTakes) {
  record("A", std::string(2000, 'x'));
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "\xc3\xa4";
  record("B", "x" + umlauts);
  loop.advance(1);
  for (const json& event : events()) {
    EXPECT_LE(event["message"].get<std::string>().size(), 1024u);
    EXPECT_NO_THROW((void)event.dump());
  }
}

}  // namespace
}  // namespace capstan::jobs::k8s
