#include "net/poll_limit.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(PollLimit, BeginsWithWhatWakingACoreCosts) {
  EXPECT_EQ(PollLimit().limit(), microseconds(50));
}

TEST(PollLimit, GrowsWithShortWaitsAndIsLostOverLongOnes) {
  PollLimit patience;
  patience.waited(microseconds(400));
  EXPECT_EQ(patience.limit(), microseconds(100));
  for (int i = 0; i < 5; ++i) patience.waited(microseconds(10));
  EXPECT_EQ(patience.limit(), microseconds(500));
  patience.waited(milliseconds(1));
  EXPECT_EQ(patience.limit(), microseconds(250));
  for (int i = 0; i < 5; ++i) patience.waited(milliseconds(1));
  EXPECT_EQ(patience.limit(), microseconds(50));
}

TEST(PollLimit, StaysSmallWhereEveryOtherWaitIsLong) {
  PollLimit patience;
  for (int i = 0; i < 10; ++i) {
    patience.waited(microseconds(20));
    patience.waited(milliseconds(20));
  }
  EXPECT_EQ(patience.limit(), microseconds(50));
}

}  // namespace
}  // namespace capstan
