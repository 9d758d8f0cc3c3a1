#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

struct Lines {
  std::vector<std::string> all;
  LogSink sink() {
    return [this](std::string_view line) { all.emplace_back(line); };
  }
};

TEST(Logger, PrefixesTextWithTimeTaskAndLevel) {
  Lines lines;
  Logger log(lines.sink(), {.task = "worker:1", .trace = "job7"});
  log.info("step {}", 3);
  log.warning("slow");
  ASSERT_EQ(lines.all.size(), 2u);
  EXPECT_THAT(lines.all[0], MatchesRegex("[0-9:.]+ worker:1 step 3 \\[job7\\]\n"));
  EXPECT_THAT(lines.all[1], HasSubstr(" worker:1 warning slow"));
}

TEST(Logger, DropsWhatIsBelowItsLevel) {
  Lines lines;
  Logger log(lines.sink(), {.level = LogLevel::kWarning});
  log.info("no");
  log.with({.level = LogLevel::kSilent}).error("no");
  Logger().error("no");
  EXPECT_TRUE(lines.all.empty());
  log.error("yes");
  EXPECT_EQ(lines.all.size(), 1u);
}

TEST(Logger, WritesJsonThatStaysOnOneLine) {
  Lines lines;
  Logger log(lines.sink(), {.format = LogFormat::kJson, .task = "ps:0"});
  log.error("a \"quoted\"\nline\x01");
  EXPECT_THAT(lines.all[0], HasSubstr("\"level\":\"error\",\"task\":\"ps:0\",\"message\":\"a "
                                      "\\\"quoted\\\"\\nline\\u0001\"}\n"));
}

TEST(Logger, PrefixesEachLineOfAMessage) {
  Lines lines;
  Logger(lines.sink(), {.task = "ps:0"}).info("one\ntwo\n");
  EXPECT_THAT(lines.all[0], MatchesRegex("[0-9:.]+ ps:0 one\n[0-9:.]+ ps:0 two\n"));
}

TEST(Logger, CopiesShareOneLock) {
  Lines lines;
  Logger log(lines.sink());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = log] {
      for (int n = 0; n < 100; ++n) copy.info("{}", n);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines.all.size(), 400u);
}

TEST(LogLevel, IsReadFromItsName) {
  EXPECT_EQ(log_level_from_name("warning"), LogLevel::kWarning);
  EXPECT_THROW(log_level_from_name("loud"), Error);
}

}  // namespace
}  // namespace capstan
