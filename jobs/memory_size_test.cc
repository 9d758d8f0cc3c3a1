#include "jobs/memory_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace capstan::jobs {
namespace {

std::string rules(const char* text) {
  try {
    std::string out;
    for (const MemoryRule& rule : parse_memory_rules(text)) {
      out += fmt::format("{}{}:{}", out.empty() ? "" : " ", rule.job, rule.bytes);
    }
    return out;
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(MemoryRules, AreForEveryTaskOrForAJob) {
  EXPECT_EQ(rules("2G"), ":2147483648");
  EXPECT_EQ(rules("ps=4G,worker=512M"), "ps:4294967296 worker:536870912");
  EXPECT_EQ(rules("1.5K,chief=7"), ":1536 chief:7");
  EXPECT_EQ(rules("1T"), ":1099511627776");
}

TEST(MemoryRules, NameThePartThatIsWrong) {
  for (const char* bad : {"", "G", "2X", "2GG", "0", "-1G", "ps=", "=2G", "1e3", "nan", "inf",
                          "9999999T", "ps=4G=2", "2 G", "0.1"}) {
    EXPECT_THAT(rules(bad), testing::HasSubstr(fmt::format("--memory {}: expected", bad)));
  }
  EXPECT_THAT(rules("ps=4G,worker=many"), testing::HasSubstr("--memory worker=many: expected"));
  EXPECT_THAT(rules("2G,"), testing::HasSubstr("--memory : expected"));
}

TEST(BinaryBytes, AreShort) {
  EXPECT_EQ(binary_bytes(512), "512 B");
  EXPECT_EQ(binary_bytes(2048), "2 KiB");
  EXPECT_EQ(binary_bytes(int64_t{2} << 30), "2 GiB");
  EXPECT_EQ(binary_bytes(2469606195), "2.3 GiB");
  EXPECT_EQ(binary_bytes(int64_t{3000} << 40), "3000 TiB");
}

}  // namespace
}  // namespace capstan::jobs
