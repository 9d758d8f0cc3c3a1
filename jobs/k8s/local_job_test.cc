#include "jobs/k8s/local_job.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "jobs/k8s/local_env.h"
#include "jobs/k8s/local_status.h"
#include "jobs/k8s/test_jobs.h"
#include "jobs/task_spec.h"

namespace capstan::jobs::k8s {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class LocalJobs : public testing::Test {
 protected:
  LocalJobs() {
    folder = fs::path(testing::TempDir()) /
             testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder / "app" / "code");
    write("app/main.py");
    write("app/code/train.py");
  }
  ~LocalJobs() override { fs::remove_all(folder); }

  void write(const std::string& name) { std::ofstream(folder / name) << "pass\n"; }
  std::string path(const std::string& name) const { return (folder / name).string(); }

  json worker(const json& container = json::object()) const {
    json object = job_json({{"Worker", 1}});
    object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0].update(
        container);
    return object;
  }

  LocalTfJob planned(const json& object, const std::string& image) {
    plan.images = {parse_local_image(image)};
    return local_tf_job(read_job(object), plan, errors);
  }

  TaskSpec task_of(const json& object, const std::string& image) {
    const LocalTfJob local = planned(object, image);
    for (const FieldError& error : errors) ADD_FAILURE() << error.text();
    return task_spec(local.spec, {{"worker", {"127.0.0.1:7"}}}, {"worker", 0});
  }

  static std::string env(const TaskSpec& task, const std::string& name) {
    for (const auto& [one, value] : task.env) {
      if (one == name) return value;
    }
    return "(not set)";
  }

  fs::path folder;
  LocalPlan plan{.python = "/opt/python", .python_path = "/opt/front"};
  std::vector<FieldError> errors;
};

TEST_F(LocalJobs, AProgramStandsForAnImage) {
  const TaskSpec task =
      task_of(worker({{"args", {"--a"}}}), "example/mnist:1=" + path("app/main.py"));
  EXPECT_THAT(task.argv, ElementsAre("/opt/python", path("app/main.py"), "--a"));
  EXPECT_EQ(task.cwd, "");
  EXPECT_EQ(env(task, "PYTHONPATH"), "/opt/front");
  EXPECT_EQ(env(task, "TF_CONFIG"),
            R"({"cluster":{"worker":["127.0.0.1:7"]},"task":{"type":"worker","index":0},)"
            R"("environment":"cloud"})");
}

TEST_F(LocalJobs, AFolderStandsForAnImageAndItsPathsAreFoundThere) {
  const std::string image = "example/mnist=" + path("app");
  EXPECT_THAT(task_of(worker(), image).argv, ElementsAre("/opt/python", path("app/main.py")));
  const TaskSpec task =
      task_of(worker({{"command", {"python3.9", "/srv/x/code/train.py"}}}), image);
  EXPECT_THAT(task.argv, ElementsAre("/opt/python", path("app/code/train.py")));
  EXPECT_EQ(task.cwd, path("app"));
}

TEST_F(LocalJobs, ACommandStandsForEveryImage) {
  EXPECT_THAT(task_of(worker({{"args", {"x"}}}), "sh -c 'exit 3'").argv,
              ElementsAre("sh", "-c", "exit 3", "x"));
}

TEST_F(LocalJobs, TheMostExactImageIsTaken) {
  const std::vector<LocalImage> images = {
      {.image = ""}, {.image = "a/b"}, {.image = "a/b:2"}, {.image = "host:5000/c"}};
  auto found = [&](const char* name) { return find_image(images, name)->image; };
  EXPECT_EQ(found("a/b:2"), "a/b:2");
  EXPECT_EQ(found("a/b:3"), "a/b");
  EXPECT_EQ(found("a/b@sha256:0"), "a/b");
  EXPECT_EQ(found("host:5000/c:1"), "host:5000/c");
  EXPECT_EQ(found("other"), "");
  EXPECT_EQ(find_image({{.image = "a/b"}}, "c"), nullptr);
}

TEST_F(LocalJobs, AnUnknownImageIsNamedWithTheRemedy) {
  planned(worker(), "other=" + path("app"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].path, "spec.tfReplicaSpecs[Worker].template.spec.containers[0].image");
  EXPECT_THAT(errors[0].message, HasSubstr("--image 'example/mnist:1=main.py'"));
}

TEST_F(LocalJobs, LimitsOfMemoryAreKeptAndOthersNoted) {
  const json limits = {{"memory", "2Gi"}, {"cpu", 1}, {"nvidia.com/gpu", 1}};
  const LocalTfJob local = planned(worker({{"resources", {{"limits", limits}}}}), path("app"));
  EXPECT_EQ(memory_limit(local.spec, "worker"), int64_t{2} << 30);
  ASSERT_EQ(local.notes.size(), 1u);
  EXPECT_THAT(local.notes[0], HasSubstr("nvidia.com/gpu of Worker"));
}

TEST_F(LocalJobs, RestartsAreThoseOfTheReplica) {
  json object = worker();
  object["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode";
  EXPECT_EQ(task_of(object, path("app")).restart, RestartPolicy::kExitCode);
  EXPECT_EQ(task_of(worker(), path("app")).restart, RestartPolicy::kNever);
}

TEST_F(LocalJobs, WhatIsNoImageIsRefused) {
  EXPECT_THROW(parse_local_image("a="), Error);
  EXPECT_THROW(parse_local_image("a=" + path("nowhere.py")), Error);
  EXPECT_THROW(parse_local_image("a=sh -c 'open"), Error);
}

TEST(Expand, ReplacesNamesAsKubernetesDoes) {
  const Variables variables = {{"A", "1"}, {"B", "2"}};
  EXPECT_EQ(expand("$(A)-$(B)$$(A)$(C)$A$", variables), "1-2$(A)$(C)$A$");
  EXPECT_EQ(expand("$(A", variables), "$(A");
}

TEST(ContainerEnv, TakesThePodsOwnFields) {
  const json pod = {{"metadata", {{"name", "p"}, {"labels", {{"a.b/c", "v"}}}}}};
  const json container = {
      {"env",
       {{{"name", "X"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.name"}}}}}},
        {{"name", "Y"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.labels['a.b/c']"}}}}}},
        {{"name", "Z"}, {"value", "$(X)$(Y)"}},
        {{"name", "O"},
         {"valueFrom", {{"configMapKeyRef", {{"name", "c"}, {"optional", true}}}}}}}}};
  std::vector<FieldError> errors;
  const Variables got = container_env(pod, container, {{"G", "g"}}, "c", errors);
  EXPECT_THAT(got, ElementsAre(std::pair("X", "p"), std::pair("Y", "v"), std::pair("Z", "pv"),
                               std::pair("G", "g")));
  EXPECT_TRUE(errors.empty());
}

TEST(SplitWords, KnowsQuotes) {
  EXPECT_THAT(split_words(R"(a  'b c' "d\"e" f\ g '')"),
              ElementsAre("a", "b c", "d\"e", "f g", ""));
}

TEST(LocalStatuses, AreTheOperators) {
  const TfJob job = read_job(job_json({{"Chief", 1}, {"PS", 1}}));
  double now = 100;
  LocalStatus status(job, [&] { return now++; });
  TaskReport ps{.task = {"ps", 0}}, chief{.task = {"chief", 0}};
  status.started(ps);
  EXPECT_EQ(status.status().state(), "Created");
  status.started(chief);
  EXPECT_EQ(status.status().state(), "Running");
  chief.attempts = {{.number = 1, .why = "exit code 130"}};
  status.restarts(chief, 1);
  EXPECT_EQ(status.status().state(), "Restarting");
  status.started(chief);
  JobReport report;
  report.tasks = {ps, chief};
  for (TaskReport& task : report.tasks) task.state = TaskState::kSucceeded;
  status.finish(report);
  EXPECT_EQ(status.status().state(), "Succeeded");
  EXPECT_EQ(status.status().replica(ReplicaType::kPs)->succeeded, 1);
  EXPECT_THAT(status_table(status.status()), HasSubstr("TFJobSucceeded"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
