#include "jobs/script/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "jobs/job_shelf.h"
#include "script/fake_engine.h"
#include "script/no_jobs.h"
#include "script/scratch.h"

namespace capstan::script {
namespace {

using testing::HasSubstr;

class Interpreter : public testing::Test {
 protected:
  std::string error_of(const std::string& text) {
    try {
      run_script(session_, {"s", text});
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }

  void write(const std::string& path, std::string_view text) {
    posix_files().make_dirs(dir_of(scratch_.path() + "/home/" + path));
    auto file = posix_files().create(scratch_.path() + "/home/" + path);
    file->append(text);
    file->close();
  }

  // A job of that id that lives as long as what is returned.
  Fd begin_job(const std::string& id) {
    jobs::JobShelf shelf(posix_files(), session_.jobs_dir);
    Fd alive = shelf.create(id);
    jobs::JobRecord record{.id = id, .name = "mnist", .command = {"python", "train.py"}};
    record.created = 1'800'000'000;
    record.state.started = 1;
    shelf.write(record);
    return alive;
  }

  Scratch scratch_;
  FakeEngine engine_;
  NoJobs jobs_;
  KeepingListener listener_;
  Session session_ = {engine_, jobs_, Paths(scratch_.path() + "/home"), listener_};

  void SetUp() override { session_.jobs_dir = scratch_.path() + "/jobs"; }
};

TEST_F(Interpreter, HandsOverAsManyRowsAsItIsAskedFor) {
  run_script(session_, {"s", "select 1 as a union all select 2 as a as t;"}, {.result_rows = 1});
  ASSERT_TRUE(listener_.last);
  EXPECT_EQ(listener_.name, "t");
  EXPECT_EQ(listener_.last->rows.size(), 1u);
  EXPECT_EQ(listener_.last->total, 2);
}

TEST_F(Interpreter, HandsOverAllRowsInBatches) {
  class Counting : public ScriptListener {
   public:
    void result(const std::string&, const Rows& rows) override {
      EXPECT_EQ(rows.first, seen);
      EXPECT_EQ(rows.columns.size(), 1u);
      seen += int64_t(rows.rows.size());
      ++calls;
    }
    void log(std::string_view) override {}
    void note(std::string_view) override {}
    void progress(std::string_view) override {}
    int64_t seen = 0, calls = 0;
  } counting;
  Session session(engine_, jobs_, Paths("/nowhere"), counting);
  run_script(session, {"s", "select 1 as a union all select 2 as a union all select 3 as a as t;"},
             {.result_rows = -1});
  EXPECT_EQ(counting.seen, 3);
  EXPECT_EQ(counting.calls, 2);
  counting.seen = counting.calls = 0;
  run_script(session, {"s", "select a from t where a > 5 as u;"}, {.result_rows = -1});
  EXPECT_EQ(counting.calls, 1);
}

TEST_F(Interpreter, BeginsNoStatementAfterAStop) {
  session_.stop();
  EXPECT_THAT(error_of("select 1 as a as t;"),
              HasSubstr("Cancelled: s:1:1: the script was stopped"));
  EXPECT_TRUE(engine_.tables().empty());
}

TEST_F(Interpreter, ListsRunningJobs) {
  const Fd alive = begin_job("aabbcc");
  session_.owner = "me";
  EXPECT_EQ(error_of("!show jobs;"), "none");
  ASSERT_EQ(listener_.last->rows.size(), 1u);
  std::vector<std::string> cells;
  for (const Cell& cell : listener_.last->rows[0]) cells.push_back(cell_text(cell));
  cells.pop_back();  // the time of day depends on the zone
  EXPECT_THAT(cells, testing::ElementsAre("me", "train", "mnist", "python train.py", "aabbcc",
                                          "running", "0"));
  EXPECT_EQ(error_of("!show \"jobs/v2/aabb\";"), "none");
  EXPECT_EQ(listener_.last->rows.size(), 1u);
}

TEST_F(Interpreter, KillsARunningJob) {
  const Fd alive = begin_job("aabbcc");
  EXPECT_EQ(error_of("!kill aabbcc;"), "none");
  EXPECT_TRUE(jobs::JobShelf(posix_files(), session_.jobs_dir).asked_to_stop("aabbcc"));
  EXPECT_EQ(listener_.last->rows.size(), 0u);
}

TEST_F(Interpreter, DoesNotKillAJobThatDoesNotRun) {
  begin_job("aabbcc");
  EXPECT_THAT(error_of("!kill aabbcc;"), HasSubstr("s:1:1: job aabbcc does not run: it is lost"));
}

TEST_F(Interpreter, RefusesAThousandNestedIncludes) {
  for (int i = 0; i < 1000; ++i) {
    const std::string next = "include a.`s" + std::to_string(i + 1) + "`;";
    write("a/s" + std::to_string(i) + ".mlsql", next);
  }
  const std::string error = error_of("include a.`s0`;");
  EXPECT_THAT(error,
              HasSubstr("a/s9.mlsql:1:1: includes are nested more than 10 deep: a/s0.mlsql"));
  EXPECT_LT(error.size(), 2000u);
}

// Without memory of what was looked at, ten levels of ten includes are ten billion.
TEST_F(Interpreter, RefusesIncludesThatMultiply) {
  for (int i = 0; i < 9; ++i) {
    std::string text;
    for (int j = 0; j < 10; ++j) text += "include a.`s" + std::to_string(i + 1) + "`;\n";
    write("a/s" + std::to_string(i) + ".mlsql", text);
  }
  write("a/s9.mlsql", "set a=1;");
  EXPECT_THAT(error_of("include a.`s0`;"), HasSubstr("run more than 100000 statements"));
}

TEST_F(Interpreter, RefusesAnIncludedScriptThatIsTooLong) {
  write("a/long.mlsql", std::string(17 << 20, ' '));
  EXPECT_THAT(error_of("include a.`long`;"), HasSubstr("s:1:1: the script has 17825792 bytes"));
}

TEST_F(Interpreter, RefusesVariablesWithoutEnd) {
  std::string text = "set a='''" + std::string(15 << 20, 'x') + "''';";
  for (int i = 0; i < 30; ++i) text += "set a" + std::to_string(i) + "=\"${a}\";";
  EXPECT_THAT(error_of(text), HasSubstr("the variables of the script hold more than 256 MB"));
}

TEST_F(Interpreter, KeepsTwoSessionsApart) {
  FakeEngine engine;
  Session other(engine, jobs_, Paths("/nowhere"), listener_);
  run_script(session_, {"s", "set a=\"1\" where scope=\"session\"; select 1 as x as t;"});
  run_script(other, {"s", "select '${a}' as v as u;"});
  EXPECT_EQ(cell_text(listener_.last->rows[0][0]), "${a}");
  EXPECT_EQ(engine.tables(), std::vector<std::string>{"u"});
}

}  // namespace
}  // namespace capstan::script
