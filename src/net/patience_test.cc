#include "net/patience.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Patience, BeginsWithWhatWakingACoreCosts) { EXPECT_EQ(Patience().limit(), microseconds(50)); }

TEST(Patience, GrowsWithAShortWaitAndIsLostOverLongOnes) {
  Patience patience;
  patience.waited(microseconds(400));
  EXPECT_EQ(patience.limit(), microseconds(500));
  patience.waited(milliseconds(1));
  EXPECT_EQ(patience.limit(), microseconds(250));
  for (int i = 0; i < 3; ++i) patience.waited(milliseconds(1));
  EXPECT_EQ(patience.limit(), microseconds(50));
}

}  // namespace
}  // namespace capstan
