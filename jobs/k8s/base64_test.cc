#include "jobs/k8s/base64.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::jobs::k8s {
namespace {

using testing::Optional;

TEST(Base64, WritesThreeBytesAsFourLetters) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foo"), "Zm9v");
  EXPECT_EQ(base64_encode("foob"), "Zm9vYg==");
}

TEST(Base64, ReadsWhatItWrote) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_THAT(base64_decode(base64_encode(bytes)), Optional(bytes));
    bytes += char(i * 7);
  }
  EXPECT_THAT(base64_decode("Zm9v\n  Yg==\n"), Optional(std::string("foob")));
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text : {"Zg=", "Z", "Zm9v!g==", "====", "Z=g="}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
}

}  // namespace
}  // namespace capstan::jobs::k8s
