// The operator among failures: of the server, of the connection, of itself.

#include <gmock/gmock.h>

#include <random>

#include "jobs/k8s/operator_play.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;

bool creates_pods(const ApiCall& call) {
  return call.verb == Verb::kCreate && call.resource == kPods;
}
bool patches_status(const ApiCall& call) {
  return call.verb == Verb::kMergePatch && call.resource == kTfJobs;
}

TEST(OperatorFaults, TriesAgainWhatTheServerRefusedForTheMoment) {
  for (int code : {500, 429, 503, 0}) {
    SCOPED_TRACE(code);
    OperatorPlay play;
    play.api.plan({.matches = creates_pods, .times = 5, .code = code});
    play.create(job_json("j", {{"Worker", 2}}));
    play.advance(10);
    EXPECT_THAT(play.pods(), ElementsAre("j-worker-0", "j-worker-1"));
    EXPECT_EQ(play.conditions("j"), "Created");
    EXPECT_TRUE(play.has_event("FailedCreatePod"));
  }
}

TEST(OperatorFaults, WaitsAsLongAsTheServerAsks) {
  OperatorPlay play;
  play.api.plan({.matches = creates_pods, .times = 1, .code = 429, .retry_after = 5});
  play.create(job_json("j", {{"Worker", 1}}));
  play.advance(4);
  EXPECT_TRUE(play.pods().empty());
  play.advance(2);
  EXPECT_EQ(play.pods().size(), 1);
}

TEST(OperatorFaults, TakesAPodForItsOwnWhoseAnswerWasLost) {
  OperatorPlay play;
  play.api.plan({.matches = creates_pods, .times = 1, .code = 0, .takes_effect = true});
  play.create(job_json("j", {{"Worker", 1}}));
  play.advance(5);
  play.run_all();
  EXPECT_EQ(play.conditions("j"), "Created, Running");
}

TEST(OperatorFaults, FailsAJobWhosePodsTheServerFindsWrong) {
  OperatorPlay play;
  play.api.plan({.matches = creates_pods, .times = 100, .code = 422});
  play.create(job_json("j", {{"Worker", 1}}));
  play.advance(1);
  EXPECT_EQ(play.conditions("j"), "Created, Failed");
}

TEST(OperatorFaults, WritesTheStatusAfterAConflict) {
  OperatorPlay play;
  play.create(job_json("j", {{"Worker", 1}}));
  play.api.plan({.matches = patches_status, .times = 3, .code = 409});
  play.run_all();
  play.advance(5);
  EXPECT_EQ(play.conditions("j"), "Created, Running");
}

TEST(OperatorFaults, CleansNothingBeforeItsEndIsWritten) {
  OperatorPlay play;
  play.create(job_json("j", {{"PS", 1}, {"Worker", 1}}, {{"cleanPodPolicy", "All"}}));
  play.run_all();
  play.api.plan({.matches = patches_status, .times = 3, .code = 500});
  play.end_pod("j-worker-0", 0);
  EXPECT_EQ(play.pods().size(), 2);
  play.replace();
  play.advance(10);
  play.finish_deletions();
  EXPECT_EQ(play.conditions("j"), "Created, Succeeded");
  EXPECT_TRUE(play.pods().empty());
}

TEST(OperatorFaults, WritesNothingWhereNothingChanges) {
  OperatorPlay play;
  play.create(job_json("j", {{"Worker", 1}}));
  play.run_all();
  play.api.clear_history();
  for (int i = 0; i < 5; ++i) play.set_status("j-worker-0", {{"hostIP", std::to_string(i)}});
  play.advance(100);
  EXPECT_EQ(std::ranges::count_if(play.api.history(),
                                  [](const std::string& call) {
                                    return call.starts_with("patch tfjobs") ||
                                           call.starts_with("update tfjobs");
                                  }),
            0)
      << testing::PrintToString(play.api.history());
}

TEST(OperatorFaults, MakesNoPodTwiceThoughItHearsOfItLate) {
  OperatorPlay play;
  play.api.delay_watches(3);
  play.create(job_json("j", {{"Worker", 3}}));
  play.advance(10);
  EXPECT_EQ(play.creations("pods"), 3);
  EXPECT_EQ(play.creations("services"), 3);
}

// Jobs to which anything happens, under operators that are killed at any moment and a server that
// fails. What must come of each job is known.
class Chaos {
 public:
  explicit Chaos(unsigned seed) : random_(seed) {
    for (int i = 0; i < kJobs; ++i) {
      play.create(job_json(name(i), {{"PS", 1, "ExitCode"}, {"Worker", 2, "ExitCode"}},
                           {{"cleanPodPolicy", below(2) ? "Running" : "All"}},
                           {{"successPolicy", "AllWorkers"}}));
    }
  }

  void run() {
    for (int i = 0; i < kEvents; ++i) {
      happen();
      play.loop.advance(below(4) == 0 ? below(50) / 10.0 : below(50) / 1000.0);
    }
    calm();
  }

  void check() {
    for (int i = 0; i < kJobs; ++i) {
      EXPECT_EQ(play.conditions(name(i)), "Created, Succeeded") << name(i);
    }
    EXPECT_EQ(run_again_, "");
  }

 private:
  static constexpr int kJobs = 3, kEvents = 60, kRounds = 60;

  static std::string name(int i) { return "job" + std::to_string(i); }
  int below(int limit) { return int(random_() % unsigned(limit)); }

  void calm() {
    play.api.refuse_watches(false);
    play.api.delay_watches(0);
    for (int i = 0; i < kRounds; ++i) {
      kubelets(4);
      play.advance(2);
    }
  }

  void happen() {
    switch (below(10)) {
      case 0: return play.replace();
      case 1: return play.api.break_watches(below(2) ? 410 : 0);
      case 2: return play.api.delay_watches(below(20) / 10.0);
      case 3: return fault();
      case 4: return play.api.compact();
      case 5: return remove_one();
      default: return kubelets(below(3));
    }
  }

  void fault() {
    constexpr int kCodes[] = {409, 429, 500, 503, 0};
    play.api.plan({.times = 1 + below(5),
                   .code = kCodes[below(5)],
                   .takes_effect = below(3) == 0,
                   .delay = below(3) == 0 ? below(10) / 10.0 : 0});
  }

  void remove_one() {
    const std::vector<std::string> pods = play.pods();
    if (!pods.empty()) play.remove_pod(pods[size_t(below(int(pods.size())))], below(2) == 0);
  }

  // Pods run, end well or by a signal, and go when they are to.
  void kubelets(int luck) {
    for (const json& pod : play.api.objects(kPods)) {
      const std::string name = pod["metadata"]["name"];
      const std::string phase = pod["status"].value("phase", "");
      if (pod["metadata"].contains("deletionTimestamp")) {
        play.remove_pod(name);
      } else if (phase == "Pending") {
        play.run(name);
        if (finished_.contains(uid_of_job(pod) + name)) run_again_ = name;
      } else if (phase == "Running" && name.find("worker") != name.npos && below(4) < luck) {
        const bool well = luck > 2 || below(2) == 0;
        play.end_pod(name, well ? 0 : 137);
      }
    }
    // What stands in a status must never run again.
    for (int i = 0; i < kJobs; ++i) {
      const json job = play.job(this->name(i));
      for (const json& index :
           list_at(at(job, "status", "replicaStatuses", "Worker"), "finished")) {
        finished_.insert(job["metadata"]["uid"].get<std::string>() + this->name(i) + "-worker-" +
                         index.dump());
      }
    }
  }

  static std::string uid_of_job(const json& pod) {
    return pod["metadata"]["ownerReferences"][0]["uid"];
  }

  std::mt19937 random_;
  OperatorPlay play;
  std::set<std::string> finished_;
  std::string run_again_;
};

TEST(OperatorFaults, LetEveryJobEndAsItMust) {
  for (unsigned seed = 0; seed < 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Chaos chaos(seed);
    chaos.run();
    chaos.check();
  }
}

}  // namespace
}  // namespace capstan::jobs::k8s
