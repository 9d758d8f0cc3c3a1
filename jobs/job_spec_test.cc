#include "jobs/job_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace capstan::jobs {
namespace {

const Cluster kCluster = {{"ps", {"h:1", "h:2"}}, {"chief", {"h:3"}}, {"worker", {"h:4"}}};

std::string failure(const JobSpec& spec) {
  try {
    check(spec);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

JobSpec spec_of(std::vector<TaskGroup> groups) {
  JobSpec spec;
  spec.groups = std::move(groups);
  return spec;
}

TEST(JobSpec, HasMemoryForEveryTaskOrForAJob) {
  JobSpec spec = spec_of({{"ps", 1}, {"worker", 2}});
  EXPECT_EQ(memory_limit(spec, "ps"), std::nullopt);
  spec.memory = {{"ps", 4}, {"", 2}};
  EXPECT_EQ(failure(spec), "");
  EXPECT_EQ(memory_limit(spec, "ps"), 4);
  EXPECT_EQ(memory_limit(spec, "worker"), 2);
  spec.memory = {{"ps", 4}};
  EXPECT_EQ(memory_limit(spec, "worker"), std::nullopt);
}

TEST(JobSpec, RefusesMemoryForAJobThatIsNotThereOrTwice) {
  JobSpec spec = spec_of({{"ps", 1}, {"worker", 2}});
  spec.memory = {{"workers", 4}};
  EXPECT_EQ(failure(spec),
            "--memory workers=…: this job has no workers, only ps, worker; did you mean worker?");
  spec.memory = {{"ps", 4}, {"ps", 4}};
  EXPECT_EQ(failure(spec), "--memory is given twice for ps");
}

TEST(TfConfig, NamesTheClusterAndTheTask) {
  EXPECT_EQ(tf_config(kCluster, {"ps", 1}),
            R"({"cluster":{"ps":["h:1","h:2"],"chief":["h:3"],"worker":["h:4"]},)"
            R"("task":{"type":"ps","index":1}})");
}

TEST(RoleFlags, HoldWhatProgramsWithFlagsAskFor) {
  EXPECT_EQ(role_flags(kCluster, {"worker", 0}),
            R"({"job_name":"worker","task_index":"0","ps_hosts":"h:1,h:2",)"
            R"("worker_hosts":"h:4","chief_hosts":"h:3","master_hosts":""})");
}

TEST(Templates, AreReplacedAndOtherBracesStay) {
  EXPECT_EQ(fill_template("--ps={ps_hosts}/{task_index}{x}", kCluster, {"ps", 1}),
            "--ps=h:1,h:2/1{x}");
}

TEST(JobSpec, StartsServersFirst) {
  JobSpec spec = spec_of({{"evaluator", 1}, {"worker", 2}, {"ps", 1}});
  std::vector<TaskId> expected = {{"ps", 0}, {"worker", 0}, {"worker", 1}, {"evaluator", 0}};
  EXPECT_EQ(tasks_of(spec), expected);
}

TEST(JobSpec, RefusesAJobInWhichNobodyTrains) {
  EXPECT_EQ(failure(spec_of({{"ps", 1}})), "nobody trains: give --workers 1 or more, or --chief");
  EXPECT_EQ(failure(spec_of({{"master", 1}})), "");
}

TEST(JobSpec, RefusesARuleThatNamesNoTaskAndNoAddress) {
  JobSpec spec = spec_of({{"worker", 1}});
  spec.resolve = {"pc-01"};
  EXPECT_THAT(failure(spec), testing::HasSubstr("--resolve pc-01: expected name[:port]="));
}

TEST(ResolveList, ReplacesATaskByItsAddress) {
  JobSpec spec;
  spec.resolve = {"pc-01:2222=ps/1", "pc-02=127.0.0.9"};
  EXPECT_EQ(resolve_list(spec, kCluster), "pc-01:2222=h:2,pc-02=127.0.0.9");
}

}  // namespace
}  // namespace capstan::jobs
