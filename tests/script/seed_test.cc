// The scripts of the document that the language comes from, as they stand. It lies in
// ../shared/seeds beside the repository; without that folder these tests are skipped.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "jobs/script/interpreter.h"
#include "script/fake_engine.h"
#include "script/no_jobs.h"
#include "script/scratch.h"
#include "source_dir.h"

namespace capstan::script {
namespace {

namespace fs = std::filesystem;

std::string document() {
  std::error_code missing;
  for (const auto& entry :
       fs::directory_iterator(std::string(source_dir()) + "/../shared/seeds", missing)) {
    if (entry.path().filename().string().starts_with("000"))
      return posix_files().read(entry.path());
  }
  return {};
}

// What stands between fences and begins with `first`.
std::string block(const std::string& text, const std::string& first) {
  const size_t begin = text.find(first), end = text.find("\n```", begin);
  return begin == text.npos ? "" : text.substr(begin, end - begin + 1);
}

class Seed : public testing::Test {
 protected:
  void SetUp() override {
    const std::string text = document();
    if (text.empty()) GTEST_SKIP() << "the document is not here";
    job_ = block(text, "select 1 as a as data;");
    write("demo/tf/py_train.mlsql", block(text, "set py_train="));
    write("store1/alg/python/text_classify/py_env.mlsql", block(text, "set py_env="));
  }

  void write(const std::string& path, const std::string& text) {
    ASSERT_NE(text, "") << path;
    posix_files().make_dirs(dir_of(scratch_.path() + "/" + path));
    auto file = posix_files().create(scratch_.path() + "/" + path);
    file->append(text);
    file->close();
  }

  std::string error_of(const std::string& text) {
    try {
      run_script(session_, {"job", text});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  Scratch scratch_;
  FakeEngine engine_;
  NoJobs jobs_;
  KeepingListener listener_;
  Session session_{engine_, jobs_, Paths(scratch_.path(), scratch_.path()), listener_};
  std::string job_;
};

TEST_F(Seed, TheTrainingProgramArrivesWhole) {
  EXPECT_EQ(error_of("include demo.`tf.py_train.mlsql`;"), "");
  const std::string body = cell_text(listener_.last->rows.at(0).at(0));
  EXPECT_TRUE(body.starts_with("\nimport json\n"));
  EXPECT_TRUE(body.ends_with("\n\nrun()\n\n\n"));
  EXPECT_NE(body.find("configured by `ps_hosts' and 'worker_hosts'"), body.npos);
}

TEST_F(Seed, TheEnvironmentMayBeEmpty) {
  EXPECT_EQ(error_of("include store1.`alg.python.text_classify.py_env.mlsql`;"), "");
  EXPECT_EQ(cell_text(listener_.last->rows.at(0).at(0)), "\n");
}

// Nothing trains here: the runner of jobs says so, at the place of the training.
TEST_F(Seed, TheJobReachesItsTraining) {
  const size_t line =
      1 + size_t(std::count(job_.begin(), job_.begin() + long(job_.find("train data")), '\n'));
  EXPECT_NE(error_of(job_).find("job:" + std::to_string(line) + ":"), std::string::npos)
      << error_of(job_);
  EXPECT_THAT(engine_.tables(), testing::IsSupersetOf({"data", "py_env", "py_train"}));
}

}  // namespace
}  // namespace capstan::script
