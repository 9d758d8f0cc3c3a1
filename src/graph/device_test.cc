#include "graph/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/test_rows.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string canonical(std::string_view text) { return Device::parse(text).text(); }

TEST(Device, ReadsAllFormsThatProgramsWrite) {
  EXPECT_EQ(canonical("/job:ps/task:0/cpu:0"), "/job:ps/task:0/device:CPU:0");
  EXPECT_EQ(canonical("job:ps/task:0"), "/job:ps/task:0");
  EXPECT_EQ(canonical("/job:worker/replica:0/task:1/device:CPU:0"),
            "/job:worker/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(canonical("/device:gpu:*"), "/device:GPU:*");
  EXPECT_EQ(canonical("/gpu"), "/device:GPU:*");
  EXPECT_EQ(canonical("/device:XLA_CPU:0"), "/device:XLA_CPU:0");
  EXPECT_EQ(canonical(""), "");
}

TEST(Device, NamesThePartThatCannotBeRead) {
  EXPECT_THAT(error_of([] { Device::parse("/jobs:ps/task:0"); }),
              AllOf(HasSubstr("'jobs:ps'"), HasSubstr("/jobs:ps/task:0")));
  EXPECT_THAT(error_of([] { Device::parse("/task:x"); }), HasSubstr("'task:x'"));
  EXPECT_THAT(error_of([] { Device::parse("/task:99999999999"); }), HasSubstr("needs a number"));
  EXPECT_THAT(error_of([] { Device::parse("/cpu:0/gpu:0"); }), HasSubstr("more than one type"));
}

TEST(Device, MergesFieldByField) {
  Device outer = Device::parse("/job:ps/task:1/gpu:3");
  EXPECT_EQ(outer.merged_with(Device::parse("/task:2/cpu:0")).text(),
            "/job:ps/task:2/device:CPU:0");
}

}  // namespace
}  // namespace capstan::testing
