#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace capstan {
namespace {

std::string noise(size_t size) {
  std::mt19937 random(7);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

TEST(Crc32c, MatchesThePublishedVectors) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, FastAndPortableWaysAgreeAtEveryLengthAndAlignment) {
  std::string bytes = noise(20000);
  for (size_t start : {0, 1, 7}) {
    for (size_t size = 0; size < 100; ++size) {
      std::string_view part = std::string_view(bytes).substr(start, size);
      ASSERT_EQ(crc32c(part), crc32c_extend_portable(0, part)) << start << " " << size;
    }
    for (size_t size : {6143, 6144, 6145, 12288, 19000}) {
      std::string_view part = std::string_view(bytes).substr(start, size);
      ASSERT_EQ(crc32c(part), crc32c_extend_portable(0, part)) << start << " " << size;
    }
  }
}

TEST(Crc32c, ExtendingGivesTheChecksumOfTheWhole) {
  std::string bytes = noise(15000);
  std::string_view all = bytes;
  for (size_t cut : {0, 1, 8, 6144, 14999}) {
    EXPECT_EQ(crc32c_extend(crc32c(all.substr(0, cut)), all.substr(cut)), crc32c(all));
  }
}

TEST(Crc32c, UnmaskUndoesMask) {
  for (uint32_t crc : {0u, 1u, 0xffffffffu, 0xe3069283u}) {
    EXPECT_EQ(crc32c_unmask(crc32c_mask(crc)), crc);
    EXPECT_NE(crc32c_mask(crc), crc);
  }
}

}  // namespace
}  // namespace capstan
