#include "jobs/task_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "jobs/local/local_platform.h"
#include "jobs/random_hex.h"

namespace capstan::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TaskSpec, HoldsTheRoleInArgumentsAndEnvironment) {
  JobSpec job{.groups = {{"ps", 1}, {"worker", 1}}, .env = {{"MINE", "a"}}, .max_steps = 5};
  job.program = {.path = "train.py", .args = {"{job_name}"}, .python = "py", .python_path = "/p"};
  TaskSpec spec = task_spec(job, {{"ps", {"h:1"}}, {"worker", {"h:2"}}}, {"worker", 0});
  EXPECT_THAT(spec.argv, ElementsAre("py", "train.py", "worker"));
  std::map<std::string, std::string> env(spec.env.begin(), spec.env.end());
  EXPECT_THAT(env["TF_CONFIG"], HasSubstr(R"("task":{"type":"worker","index":0})"));
  EXPECT_EQ(env["PYTHONPATH"], "/p");
  EXPECT_EQ(env["MINE"], "a");
  EXPECT_EQ(env["CAPSTAN_MAX_STEPS"], "5");
}

TEST(TaskSpec, CanDifferFromTaskToTask) {
  JobSpec job{.groups = {{"ps", 1}, {"worker", 1}}, .program = {.path = "train"}};
  job.adjust = [](const Cluster& cluster, TaskSpec& spec) {
    if (spec.task.job == "ps") spec.restart = RestartPolicy::kNever;
    spec.input = spec.task.name() + " of " + std::to_string(cluster.size());
  };
  const TaskSpec ps = task_spec(job, {{"worker", {"h:2"}}}, {"ps", 0});
  const TaskSpec worker = task_spec(job, {{"worker", {"h:2"}}}, {"worker", 0});
  EXPECT_EQ(ps.input, "ps/0 of 1");
  EXPECT_EQ(ps.restart, RestartPolicy::kNever);
  EXPECT_EQ(worker.restart, RestartPolicy::kOnFailure);
}

TEST(TaskSpec, FilesStayBelowTheirFolder) {
  TemporaryFolder folder;
  lay_out({.files = {{"a.txt", "a"}, {"deep/b.txt", "b"}}}, folder.path());
  EXPECT_EQ(posix_files().read(folder.path() + "/deep/b.txt"), "b");
  for (const char* path : {"../c", "/c", "", "a/../../c", "."}) {
    EXPECT_THROW(lay_out({.files = {{path, "c"}}}, folder.path()), Error) << path;
  }
}

struct Ended : PlatformWatcher {
  void changed() override { ++changes; }
  void log(const TaskId&, std::string_view line) override { lines.emplace_back(line); }
  void progress(const TaskId&, const Progress&) override {}
  int changes = 0;
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(TaskSpec spec) {
  PollLoop loop;
  JobSpec job{.groups = {{"worker", 1}}};
  LocalPlatform platform(
      loop, job, {.job_id = random_hex(kJobIdBytes), .log_file = [](const TaskId&) { return ""; }});
  Ended ended;
  platform.watch(&ended);
  spec.task = {"worker", 0};
  platform.start(spec, 1);
  loop.run_until([&] { return platform.list()[0].ended; });
  if (auto error = platform.list()[0].start_error) return {error->message()};
  return ended.lines;
}

TEST(LocalPlatform, HandsOverInputThatThenEnds) {
  EXPECT_THAT(lines_of({.argv = {"cat"}, .input = "one\ntwo\n"}), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of({.argv = {"cat"}}), ElementsAre());
  EXPECT_EQ(lines_of({.argv = {"wc", "-c"}, .input = std::string(5'000'000, 'x')})[0], "5000000");
}

TEST(LocalPlatform, StartsTasksInTheirFolderWithTheirFiles) {
  TemporaryFolder folder;
  TaskSpec spec{.argv = {"cat", "in.txt"}, .cwd = folder.path(), .files = {{"in.txt", "laid out"}}};
  EXPECT_THAT(lines_of(spec), ElementsAre("laid out"));
  spec.cwd = folder.path() + "/absent";
  EXPECT_THAT(lines_of(spec)[0], HasSubstr("/absent: No such file"));
}

TEST(LocalPlatform, SaysWhyATaskCouldNotBeStarted) {
  EXPECT_THAT(lines_of({.argv = {"./absent"}})[0], HasSubstr("./absent: no such program"));
}

}  // namespace
}  // namespace capstan::jobs
