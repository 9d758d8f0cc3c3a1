#include <gtest/gtest.h>

#include <set>

#include "jobs/duck/duck.h"
#include "script/fake_engine.h"
#include "script/scratch.h"
#include "script/script_case.h"

namespace capstan::script {
namespace {

class Cases : public testing::TestWithParam<ScriptCase> {};

TEST_P(Cases, ComeOutAsTheySay) {
  if (!is_for(GetParam(), "fake")) GTEST_SKIP() << "of DuckDB";
  FakeEngine engine;
  Scratch scratch;
  EXPECT_EQ(run_case(GetParam(), engine, scratch.path()), "");
}

TEST_P(Cases, ComeOutAsTheySayOnDuckDb) {
  if (!is_for(GetParam(), "duck")) GTEST_SKIP() << "of the small engine";
  if (std::string missing = duck::missing_library(); !missing.empty()) GTEST_SKIP() << missing;
  Scratch scratch;
  const auto engine = duck::duck_engine({.temp_folder = scratch.path(), .threads = 1});
  EXPECT_EQ(run_case(GetParam(), *engine, scratch.path()), "");
}

INSTANTIATE_TEST_SUITE_P(Script, Cases, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return test_name(info.param); });

TEST(CaseFiles, AreManyAndHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const ScriptCase& script_case : all_cases())
    EXPECT_TRUE(names.insert(test_name(script_case)).second) << script_case;
  EXPECT_GE(names.size(), 150);
}

}  // namespace
}  // namespace capstan::script
