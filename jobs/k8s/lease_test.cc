#include "jobs/k8s/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "jobs/fake_platform.h"
#include "jobs/k8s/memory_api.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An operator that says when it leads, with a clock of its own.
class Candidate : public LeaseHolder {
 public:
  Candidate(KubeApi& api, FakeLoop& loop, const std::string& name, double clock_error = 0)
      : random_(std::hash<std::string>()(name)),
        election(api, loop, random_, {.lease = {"ops", "capstan"}, .identity = name}, *this,
                 [&loop, clock_error] { return 1.7e9 + loop.seconds() + clock_error; }) {
    election.start();
  }
  void leads() override { all.push_back("leads"); }
  void leads_no_more(const Error& why) override { all.push_back("no more: " + why.message()); }
  void follows(const std::string& identity) override { all.push_back("follows " + identity); }
  void troubled(const Error& error) override { all.push_back("troubled: " + error.message()); }
  std::vector<std::string> take() { return std::exchange(all, {}); }

 private:
  SeededRandom random_;

 public:
  std::vector<std::string> all;
  LeaderElection election;
};

class LeaseTest : public testing::Test {
 protected:
  json spec() { return api.objects(kLeases).at(0)["spec"]; }
  static auto by(std::string_view name) {
    return [name](const ApiCall& call) {
      return call.body && call.body->dump().find(name) != std::string::npos;
    };
  }

  FakeLoop loop;
  MemoryApi api{loop};
};

TEST_F(LeaseTest, TheFirstLeadsAndRenews) {
  Candidate a(api, loop, "a");
  EXPECT_FALSE(a.election.leads());
  loop.advance(0.01);
  EXPECT_TRUE(a.election.leads());
  EXPECT_THAT(a.take(), ElementsAre("leads"));
  const json before = spec();
  EXPECT_EQ(before["holderIdentity"], "a");
  EXPECT_EQ(before["leaseDurationSeconds"], 3);
  loop.advance(100);
  EXPECT_THAT(a.take(), IsEmpty());
  EXPECT_NE(spec()["renewTime"], before["renewTime"]);
  EXPECT_EQ(spec()["acquireTime"], before["acquireTime"]);
}

TEST_F(LeaseTest, TheSecondFollowsAndTakesOverWithinFourSecondsOfSilence) {
  auto a = std::make_unique<Candidate>(api, loop, "a");
  loop.advance(0.01);
  Candidate b(api, loop, "b", -5000);  // its clock is more than an hour behind
  loop.advance(20);
  EXPECT_THAT(b.take(), ElementsAre("follows a"));
  a.reset();  // as if killed: it gives nothing back
  loop.advance(2.4);
  EXPECT_FALSE(b.election.leads());
  loop.advance(1.6);
  EXPECT_TRUE(b.election.leads());
  EXPECT_EQ(spec()["leaseTransitions"], 1);
}

TEST_F(LeaseTest, IsGivenBackAtTheEndSoThatNobodyWaits) {
  Candidate a(api, loop, "a");
  loop.advance(0.01);
  Candidate b(api, loop, "b");
  loop.advance(5);
  bool released = false;
  a.election.release([&] { released = true; });
  EXPECT_FALSE(a.election.leads());
  EXPECT_FALSE(released);
  loop.advance(0.7);
  EXPECT_TRUE(released);
  EXPECT_TRUE(b.election.leads());
  EXPECT_THAT(a.take(), ElementsAre("leads"));
}

TEST_F(LeaseTest, IsGivenUpBeforeOthersMayTakeIt) {
  Candidate a(api, loop, "a");
  loop.advance(0.01);
  Candidate b(api, loop, "b");
  loop.advance(5);
  a.take();
  api.plan({.matches = by("\"holderIdentity\":\"a\""), .times = 20, .code = 0});
  double lost = 0, won = 0;
  for (int i = 0; i < 500 && won == 0; ++i) {
    loop.advance(0.01);
    if (lost == 0 && !a.election.leads()) lost = loop.seconds();
    if (b.election.leads()) won = loop.seconds();
    EXPECT_FALSE(a.election.leads() && b.election.leads());
  }
  loop.advance(1);
  EXPECT_GT(lost, 0);
  EXPECT_GT(won - lost, 0.5);
  EXPECT_THAT(a.take(), ElementsAre(HasSubstr("troubled"), HasSubstr("could not be renewed for 2"),
                                    "follows b"));
}

TEST_F(LeaseTest, OneWhoWasHeldUpKnowsThatItsTimeIsOver) {
  Candidate a(api, loop, "a");
  loop.advance(0.01);
  api.plan({.times = 1, .code = 200, .delay = 1000});  // nothing comes back
  loop.advance(1.9);
  EXPECT_TRUE(a.election.leads());
  loop.advance(0.7);
  EXPECT_FALSE(a.election.leads());
}

TEST_F(LeaseTest, AnAnswerThatWasLostIsFoundOut) {
  api.plan({.times = 1, .code = 404});
  api.plan({.times = 1, .code = 0, .takes_effect = true});  // the creation
  Candidate a(api, loop, "a");
  loop.advance(2);
  EXPECT_TRUE(a.election.leads());
}

TEST_F(LeaseTest, ALeaseThatSomebodyDeletedIsMadeAgain) {
  Candidate a(api, loop, "a");
  loop.advance(1);
  api.now({.verb = Verb::kDelete, .resource = kLeases, .object = {"ops", "capstan"}});
  loop.advance(2);
  EXPECT_TRUE(a.election.leads());
  EXPECT_THAT(a.take(), ElementsAre("leads"));
}

TEST_F(LeaseTest, NeverTwoLeadInAStorm) {
  std::vector<std::unique_ptr<Candidate>> all;
  for (const char* name : {"a", "b", "c"})
    all.push_back(std::make_unique<Candidate>(api, loop, name));
  SeededRandom random(3);
  for (int i = 0; i < 3000; ++i) {
    if (random.u64() % 4 == 0) {
      api.plan({.times = int(random.u64() % 3),
                .code = random.u64() % 2 ? 0 : 500,
                .takes_effect = random.u64() % 2 == 0,
                .delay = double(random.u64() % 200) / 100});
    }
    loop.advance(0.1);
    EXPECT_LE(std::ranges::count_if(all, [](auto& one) { return one->election.leads(); }), 1);
  }
}

}  // namespace
}  // namespace capstan::jobs::k8s
