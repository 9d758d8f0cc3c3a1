// The tables of upstream's own tests, played against the operator. tests/k8s/test_upstream_tests.py
// says which of ours has the meaning of which of theirs.

#include <gmock/gmock.h>

#include "jobs/k8s/operator_play.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

// How many replicas of a type are brought how far: those that run are the first, those that have
// ended the last.
struct Brought {
  int replicas = 0;
  int succeeded = 0, active = 0;  // the rest waits
};

void bring(OperatorPlay& play, const std::string& type, const Brought& to) {
  const auto name = [&](int index) { return "j-" + type + "-" + std::to_string(index); };
  for (int i = 0; i < to.active; ++i) play.run(name(i));
  for (int i = 1; i <= to.succeeded; ++i) play.end_pod(name(to.replicas - i), 0);
}

struct Observed {
  const char* name;
  Brought workers, servers;
  const char* conditions;
};

TEST(OperatorTables, WhatIsMadeAndCountedIsUpstreams) {
  const Observed rows[] = {
      {"a worker alone is made", {1}, {}, "Created"},
      {"workers and servers are made", {4}, {2}, "Created"},
      {"all wait", {4}, {2}, "Created"},
      {"all run", {.replicas = 4, .active = 4}, {.replicas = 2, .active = 2}, "Created, Running"},
      {"some run", {.replicas = 4, .active = 3}, {.replicas = 2, .active = 1}, "Created, Running"},
      {"only servers run", {4}, {.replicas = 2, .active = 2}, "Created"},
      {"some have ended",
       {.replicas = 4, .succeeded = 1, .active = 2},
       {.replicas = 2, .active = 2},
       "Created, Running"},
      {"all have ended",
       {.replicas = 4, .succeeded = 4},
       {.replicas = 2, .active = 2},
       "Created, Succeeded"},
  };
  for (const Observed& row : rows) {
    SCOPED_TRACE(row.name);
    OperatorPlay play;
    std::vector<Replicas> replicas = {{"Worker", row.workers.replicas}};
    if (row.servers.replicas > 0) replicas.push_back({"PS", row.servers.replicas});
    play.create(job_json("j", replicas, {{"cleanPodPolicy", "None"}}));
    EXPECT_EQ(play.creations("pods"), row.workers.replicas + row.servers.replicas);
    EXPECT_EQ(play.creations("services"), row.workers.replicas + row.servers.replicas);
    bring(play, "ps", row.servers);
    bring(play, "worker", row.workers);
    EXPECT_EQ(play.conditions("j"), row.conditions);
    const json workers = play.replicas("j", "Worker");
    EXPECT_EQ(workers.value("succeeded", 0), row.workers.succeeded);
    EXPECT_EQ(workers.value("active", 0), row.workers.active);
    EXPECT_EQ(workers.value("failed", 0), 0);
  }
}

struct First {
  const char* name;
  std::vector<Replicas> replicas;
  std::vector<std::pair<std::string, int>> ended;  // task and code, in their order
  const char* conditions;
};

TEST(OperatorTables, TheFirstWorkersGoodEndIsTheJobsUnlessThereIsAChief) {
  const First rows[] = {
      {"it runs", {{"Worker", 2}}, {}, "Created, Running"},
      {"it ended well", {{"Worker", 2}}, {{"worker-0", 0}}, "Created, Succeeded"},
      {"another ended well", {{"Worker", 2}}, {{"worker-1", 0}}, "Created, Running"},
      {"it failed", {{"Worker", 2}}, {{"worker-0", 1}}, "Created, Failed"},
      {"a chief runs", {{"Chief", 1}, {"Worker", 2}}, {{"worker-0", 0}}, "Created, Running"},
      {"it is the last", {{"Worker", 2}}, {{"worker-1", 0}, {"worker-0", 0}}, "Created, Succeeded"},
  };
  for (const First& row : rows) {
    SCOPED_TRACE(row.name);
    OperatorPlay play;
    play.create(job_json("j", row.replicas));
    play.run_all();
    for (const auto& [task, code] : row.ended) play.end_pod("j-" + task, code);
    play.advance(1);
    EXPECT_EQ(play.conditions("j"), row.conditions);
  }
}

TEST(OperatorTables, ExitCodesFrom128OnAreTriedAgain) {
  for (int code : {1, 2, 3, 126, 127, 128, 130, 137, 138, 139, 143}) {
    SCOPED_TRACE(code);
    OperatorPlay play;
    play.create(job_json("j", {{"Worker", 1, "ExitCode"}}));
    play.run_all();
    play.end_pod("j-worker-0", code);
    EXPECT_EQ(play.conditions("j"), code >= 128 ? "Created, Restarting" : "Created, Failed");
  }
}

struct Kept {
  const char* name;
  std::optional<int> seconds;  // ttlSecondsAfterFinished
  std::optional<int> code;     // with which it ended, if it did
  double after;                // seconds
  bool there;
};

TEST(OperatorTables, AJobIsKeptAsLongAfterItsEndAsItSays) {
  const Kept rows[] = {
      {"it runs", 1, std::nullopt, 10, true},
      {"no time is said", std::nullopt, 0, 1000, true},
      {"at once", 0, 0, 1, false},
      {"not yet", 10, 0, 8, true},
      {"over", 10, 0, 12, false},
      {"failed, and over", 10, 1, 12, false},
  };
  for (const Kept& row : rows) {
    SCOPED_TRACE(row.name);
    OperatorPlay play;
    json policy = json::object();
    if (row.seconds) policy["ttlSecondsAfterFinished"] = *row.seconds;
    play.create(job_json("j", {{"Worker", 1}}, policy));
    play.run_all();
    if (row.code) play.end_pod("j-worker-0", *row.code);
    play.advance(row.after);
    EXPECT_EQ(!play.job("j").is_null(), row.there);
  }
}

struct Limit {
  int limit, failures;
  const char* conditions;
};

TEST(OperatorTables, RestartsAreLimited) {
  const Limit rows[] = {{0, 0, "Created, Running"},
                        {0, 1, "Created, Failed"},
                        {3, 2, "Created, Running"},
                        {3, 3, "Created, Running"},
                        {3, 4, "Created, Failed"}};
  for (const Limit& row : rows) {
    SCOPED_TRACE(row.limit * 10 + row.failures);
    OperatorPlay play;
    play.create(job_json("j", {{"Worker", 1, "ExitCode"}}, {{"backoffLimit", row.limit}}));
    play.run_all();
    for (int i = 0; i < row.failures; ++i) {
      play.end_pod("j-worker-0", 137);
      play.advance(20);
      play.run_all();
    }
    EXPECT_EQ(play.conditions("j"), row.conditions);
  }
}

TEST(OperatorTables, WithoutADeadlineAJobMayRunForEver) {
  OperatorPlay play;
  play.create(job_json("j", {{"Worker", 1}}));
  play.run_all();
  play.advance(1e6);
  EXPECT_EQ(play.conditions("j"), "Created, Running");
}

// A pod that looks like one of the job's and belongs to nobody, or to somebody else.
void make_stranger(OperatorPlay& play, const std::string& owner) {
  json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", "stranger"},
                {"labels",
                 {{std::string(kOperatorLabel), kOperatorName},
                  {std::string(kJobLabel), "j"},
                  {std::string(kTypeLabel), "worker"},
                  {std::string(kIndexLabel), "0"}}}}},
              {"spec", {{"containers", {{{"name", "tensorflow"}, {"image", "i"}}}}}}};
  if (!owner.empty()) {
    pod["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                           {"kind", "Job"},
                                           {"name", "other"},
                                           {"uid", owner},
                                           {"controller", true}}};
  }
  play.call(Verb::kCreate, kPods, "", pod);
}

TEST(OperatorTables, PodsOfNobodyAndOfOthersAreLeftAlone) {
  for (const char* owner : {"", "u-other"}) {
    SCOPED_TRACE(owner);
    OperatorPlay play;
    make_stranger(play, owner);
    play.create(job_json("j", {{"Worker", 1}}, {{"cleanPodPolicy", "All"}}));
    play.end_pod("stranger", 1);
    EXPECT_THAT(play.pods(), ElementsAre("j-worker-0", "stranger"));
    EXPECT_EQ(play.conditions("j"), "Created");
    play.run("j-worker-0");
    play.end_pod("j-worker-0", 0);
    play.finish_deletions();
    EXPECT_EQ(play.conditions("j"), "Created, Succeeded");
    EXPECT_THAT(play.pods(), ElementsAre("stranger"));
  }
}

TEST(OperatorTables, AJobThatIsBeingDeletedMakesNothing) {
  OperatorPlay play;
  json job = job_json("j", {{"Worker", 1}});
  job["metadata"]["finalizers"] = {"example.com/wait"};
  play.end();
  play.create(job);
  play.call(Verb::kDelete, kTfJobs, "j", json::object());
  play.begin();
  play.advance(5);
  EXPECT_THAT(play.pods(), IsEmpty());
}

}  // namespace
}  // namespace capstan::jobs::k8s
