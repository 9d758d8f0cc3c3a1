#include "tensor/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace capstan {
namespace {

class AllocateBytes : public testing::TestWithParam<size_t> {};

TEST_P(AllocateBytes, GivesWholeLinesAndOneMore) {
  const size_t bytes = GetParam();
  const std::unique_ptr<char, decltype(&std::free)> data(static_cast<char*>(allocate_bytes(bytes)),
                                                         std::free);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data.get()) % kCacheLine, 0u);
  const size_t lines = (bytes + kCacheLine - 1) / kCacheLine + 1;
  std::memset(data.get(), 1, lines * kCacheLine);
  EXPECT_EQ(data.get()[lines * kCacheLine - 1], 1);
}

constexpr size_t kMega = 1 << 20;
INSTANTIATE_TEST_SUITE_P(Sizes, AllocateBytes,
                         testing::Values(0, 1, 64, 1000, kMega, 3 * kMega / 2, 2 * kMega - 64,
                                         2 * kMega, 2 * kMega + 1, 7 * kMega + 12345));

TEST(AllocateBytes, BeginsLargeOnesWithAHugePage) {
  const std::unique_ptr<void, decltype(&std::free)> data(allocate_bytes(3 * kMega), std::free);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data.get()) % (2 * kMega), 0u);
}

}  // namespace
}  // namespace capstan
