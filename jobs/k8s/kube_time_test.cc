#include "jobs/k8s/kube_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::jobs::k8s {
namespace {

using testing::DoubleNear;
using testing::Optional;

TEST(KubeTime, WritesSecondsAndMicroseconds) {
  EXPECT_EQ(kube_time(1'700'000'000.9), "2023-11-14T22:13:20Z");
  EXPECT_EQ(kube_micro_time(1'700'000'000.25), "2023-11-14T22:13:20.250000Z");
  EXPECT_EQ(kube_micro_time(1'700'000'000.9999999), "2023-11-14T22:13:21.000000Z");
  EXPECT_EQ(kube_time(-1), "1969-12-31T23:59:59Z");
}

TEST(KubeTime, ReadsWhatItWroteAndOtherOffsets) {
  EXPECT_THAT(parse_kube_time("2023-11-14T22:13:20Z"), Optional(1'700'000'000.0));
  EXPECT_THAT(parse_kube_time("2023-11-14T22:13:20.250000Z"), Optional(1'700'000'000.25));
  EXPECT_THAT(parse_kube_time("2023-11-15T00:13:20.5+02:00"),
              Optional(DoubleNear(1'700'000'000.5, 1e-6)));
}

TEST(KubeTime, TellsWhatIsNoTime) {
  for (const char* text : {"", "today", "2023-11-14", "2023-11-14T22:13:20", "2023-13-14T22:13:20Z",
                           "2023-02-30T22:13:20Z", "2023-11-14T25:13:20Z", "2023-11-14T22:13:20.Q",
                           "2023-11-14T22:13:20+0200", "2023-11-14T22:13:2"}) {
    EXPECT_FALSE(parse_kube_time(text)) << text;
  }
}

}  // namespace
}  // namespace capstan::jobs::k8s
