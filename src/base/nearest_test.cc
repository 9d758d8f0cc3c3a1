#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace capstan {
namespace {

const std::vector<std::string> kNames = {"run", "python", "server", "doctor"};

TEST(Nearest, FindsTheSlip) {
  EXPECT_EQ(nearest("pyhton", kNames), "python");
  EXPECT_EQ(nearest("serve", kNames), "server");
  EXPECT_EQ(did_you_mean("rnu", kNames), "; did you mean run?");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("kubernetes", kNames), "");
  EXPECT_EQ(did_you_mean("kubernetes", kNames), "");
}

TEST(Nearest, MakesNoGuessThatIsNoSlip) {
  EXPECT_EQ(nearest("cond", std::vector<std::string>{"round", "add", "conv2d"}), "");
  EXPECT_EQ(nearest("RMSPropOptimizer", std::vector<std::string>{"Optimizer", "AdamOptimizer"}),
            "");
}

TEST(EditDistance, CountsASwapOnce) {
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, DoesNotCompareTextsThatNobodyTypes) {
  const std::vector<std::string> names = {std::string(1'000'000, 'a')};
  EXPECT_EQ(nearest(std::string(999'999, 'a'), names), "");
}

}  // namespace
}  // namespace capstan
