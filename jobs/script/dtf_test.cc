#include "jobs/script/dtf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/error.h"
#include "jobs/random_hex.h"
#include "jobs/script/dtf_result.h"
#include "jobs/script/dtf_tasks.h"
#include "jobs/script/session.h"

namespace capstan::script {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// One table with rows, and tables that hold scripts.
class OneTable : public Engine {
 public:
  int parts = 1;
  std::map<std::string, std::string> scripts = {{"trainer", "pass"}, {"helper", "x = 1"}};
  std::map<std::string, Rows> defined;

  void load(const LoadFrom&, const std::string&) override {}
  void define(const std::string& table, const Rows& rows) override { defined[table] = rows; }
  void select(std::string_view, const std::string&) override {}
  void execute(std::string_view) override {}
  void save(const std::string&, const SaveTo&) override {}
  void drop(const std::string&) override {}
  std::vector<std::string> tables() const override { return {"data"}; }
  std::vector<Column> columns(const std::string&) const override { return {{"x", "BIGINT"}}; }
  Rows rows(const std::string& table, int64_t) const override {
    auto found = scripts.find(table);
    if (found == scripts.end()) throw not_found("there is no table {}", table);
    return {.columns = {{"content", "VARCHAR"}}, .rows = {{found->second}}, .total = 1};
  }
  std::unique_ptr<RowReader> read(const std::string&) const override { return nullptr; }
  Rows query(std::string_view, int64_t) override { return {}; }
  int partitions(const std::string&) const override { return parts; }
  void repartition(const std::string&, int, const std::string&) override {}
  std::vector<Shard> write_shards(const std::string&, const std::string&,
                                  const std::string& folder) override {
    std::vector<Shard> shards;
    for (int i = 0; i < parts; ++i) shards.push_back({folder + "/" + std::to_string(i), 1});
    return shards;
  }
  void add_function(Function) override {}
  std::vector<std::string> functions() const override { return {}; }
  void interrupt() override {}
  void resume() override {}
};

// Remembers what it was to run, and says what it is told to.
class Runner : public JobRunner {
 public:
  Capacity has{.cores = 8, .free_memory = 8'000'000'000};
  std::function<jobs::JobReport(const jobs::JobSpec&)> does;

  Capacity capacity() const override { return has; }
  jobs::JobReport run(const jobs::JobSpec& spec, jobs::JobObserver&) override { return does(spec); }
  void stop() override {}
  std::string find_python(const std::string&, bool,
                          const std::function<void(std::string_view)>&) const override {
    return "python3";
  }
  std::string python_path() const override { return "/front"; }
};

class Listener : public ScriptListener {
 public:
  std::string notes;
  void result(const std::string&, const Rows&) override {}
  void log(std::string_view) override {}
  void note(std::string_view text) override { (notes += text) += "\n"; }
  void progress(std::string_view) override {}
};

class DtfTest : public testing::Test {
 protected:
  DtfTest() : root_(testing::TempDir() + "dtf-XXXXXX") { mkdtemp(root_.data()); }
  ~DtfTest() override { std::filesystem::remove_all(root_); }

  // What it throws, or "".
  std::string train(const KeyValues& more = {}) {
    const Place place{std::make_shared<Source>(Source{"job.mlsql", "train"}), 0};
    std::vector<Option> given;
    KeyValues all = {{"scripts", "trainer,helper"}, {"entryPoint", "trainer"}};
    for (const auto& [key, value] : more) {
      std::erase_if(all, [&, &key = key](const auto& entry) { return entry.first == key; });
      all.emplace_back(key, value);
    }
    for (const auto& [key, value] : all) given.push_back({key, value, place});
    Session session(engine_, runner_, Paths(root_), listener_);
    try {
      dtf_train({session, "data", root_ + "/m", "result",
                 Options(std::move(given), dtf_train_options(), place), place, "train"});
    } catch (const Error& error) {
      return fmt::format("{}: {}", code_name(error.code()), error.message());
    }
    return "";
  }

  // All tasks end well.
  static jobs::JobReport good(const jobs::JobSpec& spec) {
    jobs::JobReport report;
    for (const jobs::TaskId& task : tasks_of(spec)) {
      report.tasks.emplace_back();
      report.tasks.back().task = task;
      report.tasks.back().state = jobs::TaskState::kSucceeded;
    }
    return report;
  }

  std::string root_;
  OneTable engine_;
  Runner runner_{};
  Listener listener_;
};

TEST_F(DtfTest, RefusesWithNumbersWhatTheMemoryDoesNotHold) {
  engine_.parts = 3;
  runner_.has.free_memory = 100'000'000;
  EXPECT_THAT(train({{"fitParam.0.psNum", "2"}}),
              AllOf(StartsWith("ResourceExhausted"),
                    HasSubstr("3 workers and 2 parameter servers need at least 300.0 MB"),
                    HasSubstr("100.0 MB are free")));
}

TEST_F(DtfTest, OnlySaysSoWhereThereAreTooFewCores) {
  runner_.does = good;
  runner_.has.cores = 1;
  EXPECT_EQ(train(), "");
  EXPECT_THAT(listener_.notes, HasSubstr("1 worker and 1 parameter server share 1 core\n"));
}

TEST_F(DtfTest, HonoursBothNamesOfTheNumberOfServersAndRefusesTwoNumbers) {
  int servers = 0;
  runner_.does = [&](const jobs::JobSpec& spec) {
    servers = spec.groups.at(0).count;
    return good(spec);
  };
  EXPECT_EQ(train({{"fitParam.0.psNum", "3"}}), "");
  EXPECT_EQ(servers, 3);
  EXPECT_EQ(train({{"fitParam.0.ps.num", "2"}}), "");
  EXPECT_EQ(servers, 2);
  EXPECT_THAT(train({{"fitParam.0.ps.num", "2"}, {"fitParam.0.psNum", "3"}}),
              HasSubstr("say different things"));
}

TEST_F(DtfTest, MayHaveNoServers) {
  runner_.does = good;
  EXPECT_EQ(train({{"fitParam.0.psNum", "0"}}), "");
  EXPECT_EQ(engine_.defined["result"].rows.size(), 1u);
}

TEST_F(DtfTest, TakesAnEmptyCondaFile) {
  runner_.does = good;
  engine_.scripts["env"] = "\n";
  EXPECT_EQ(train({{"condaFile", "env"}}), "");
}

TEST_F(DtfTest, RefusesWhatItCannotRun) {
  EXPECT_THAT(train({{"fitParam.0.chiefIndex", "1"}}),
              HasSubstr("chiefIndex 1: 1 worker from 0 on"));
  EXPECT_THAT(train({{"entryPoint", "trainr"}}), HasSubstr("did you mean trainer?"));
  EXPECT_THAT(train({{"scripts", "nothing"}}), HasSubstr("there is no table nothing"));
  EXPECT_THAT(train({{"scripts", "../trainer"}}), HasSubstr("cannot be a file's name"));
  EXPECT_THAT(train({{"pythonScriptPath", "/x"}}), HasSubstr("not both"));
  EXPECT_THAT(train({{"fitParam.0.psNum", "99999999999"}}), HasSubstr("no more than 1000 tasks"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/m"));
}

TEST_F(DtfTest, TheRunIsTheJobAndTheGroupOfItsLines) {
  std::string id, group;
  runner_.does = [&](const jobs::JobSpec& spec) {
    id = spec.id;
    jobs::TaskSpec task;
    spec.adjust({}, task);
    group = task.input;
    return good(spec);
  };
  EXPECT_EQ(train(), "");
  EXPECT_EQ(id.size(), 2 * jobs::kJobIdBytes);
  EXPECT_THAT(group, HasSubstr(id));
}

TEST_F(DtfTest, ATimeoutIsRefusedInTheWordsOfTheScript) {
  EXPECT_THAT(train({{"timeout", "0"}}),
              HasSubstr("option timeout is \"0\"; it must be seconds above 0"));
}

TEST_F(DtfTest, LeavesTheTableOfARunThatWasRefused) {
  EXPECT_THAT(train({{"entryPoint", "trainr"}}), HasSubstr("did you mean trainer?"));
  EXPECT_EQ(engine_.defined["result"].rows.size(), 2u);
}

TEST_F(DtfTest, LeavesTheTableOfARunThatDidNotEvenBegin) {
  runner_.does = [](const jobs::JobSpec&) -> jobs::JobReport {
    throw not_found("no such program");
  };
  EXPECT_THAT(train(), HasSubstr("no such program"));
  ASSERT_EQ(engine_.defined["result"].rows.size(), 2u);
  EXPECT_EQ(engine_.defined["result"].rows[0].back(), Cell(false));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/m"));
}

TEST(DtfTasks, FramesParametersAsTheScriptsReadThem) {
  EXPECT_EQ(framed({{"ab", ""}, {"c", "äx"}}),
            std::string("\0\0\0\2\0\0\0\2ab\0\0\0\0\0\0\0\1c\0\0\0\3äx", 26));
}

TEST(DtfTasks, GivesServersNoDataAndListsTheClusterByTask) {
  DtfPlan plan;
  plan.shards = {{"/d/0", 1}};
  plan.folder = "/f";
  plan.chief_model = "/chief";
  const jobs::Cluster cluster = {{"ps", {"h:1"}}, {"worker", {"h:2"}}};
  KeyValues worker = task_parameters(plan, cluster, {"worker", 0});
  EXPECT_THAT(worker, testing::Contains(testing::Pair("tempDataLocalPath", "/d/0")));
  EXPECT_THAT(worker, testing::Contains(testing::Pair("tempModelLocalPath", "/chief")));
  KeyValues server = task_parameters(plan, cluster, {"ps", 0});
  EXPECT_THAT(server, testing::ElementsAre(
                          testing::Pair("roleSpec", R"({"jobName":"ps","taskIndex":0})"),
                          testing::Pair("clusterSpec", R"({"worker":["h:2"],"ps":["h:1"]})")));
}

TEST(DtfProject, FindsTheCommandOfAnMlproject) {
  EXPECT_EQ(
      mlproject_command("entry_points:\n  main:\n    train:\n        parameters:\n          a: "
                        "int\n        command: \"python t.py --x 1\"\n    batch_predict:\n"
                        "        command: \"python p.py\"\n"),
      "python t.py --x 1");
  EXPECT_EQ(mlproject_command("entry_points:\n  main:\n    command: python m.py\n"), "python m.py");
  EXPECT_EQ(mlproject_command("name: nothing\n"), "");
}

jobs::JobReport failed_report() {
  jobs::JobReport report{.exit_code = 1, .reason = "worker/0 failed first, with exit code 1"};
  report.cause = 0;
  report.tasks.emplace_back();
  report.tasks[0].task = {"worker", 0};
  report.tasks[0].exit_code = 1;
  report.tasks[0].state = jobs::TaskState::kFailed;
  return report;
}

TEST(DtfResult, TellsTheTasksOwnErrorElseItsLastLine) {
  jobs::JobReport report = failed_report();
  report.last_lines = {"Traceback (most recent call last):", "KeyError: 'x'", ""};
  EXPECT_EQ(failure_of(report).message(), "worker/0 failed (exit code 1): KeyError: 'x'");
  report.tasks[0].error = "no label";
  report.tasks[0].error_code = "ValueError";
  EXPECT_EQ(failure_of(report).message(), "worker/0 failed (exit code 1): ValueError: no label");
  EXPECT_EQ(failure_of(report).code(), Code::kAborted);
}

TEST(DtfResult, OnlyATaskThatWasNotStoppedIsDone) {
  jobs::JobReport report = failed_report();
  report.tasks.emplace_back();
  report.tasks[1].task = {"worker", 1};
  report.tasks[1].state = jobs::TaskState::kStopped;
  const Rows rows = result_rows(report.tasks);
  EXPECT_EQ(rows.rows[0][5], Cell(true));
  EXPECT_EQ(rows.rows[1][5], Cell(false));
}

TEST(DtfResult, AStopIsNoFailureOfTheTasksThatItEnds) {
  jobs::JobReport report = failed_report();
  report.reason = "stopped by capstan stop";
  report.exit_code = 143;
  EXPECT_EQ(failure_of(report).code(), Code::kCancelled);
  EXPECT_THAT(failure_of(report).message(), HasSubstr("stopped by capstan stop"));
}

}  // namespace
}  // namespace capstan::script
