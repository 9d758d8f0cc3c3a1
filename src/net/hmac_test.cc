#include "net/hmac.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// RFC 4231, test cases 2 and 6 (a key longer than a block).
TEST(Hmac, GivesTheStandardsValues) {
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, TakesAnEmptyKey) { EXPECT_EQ(hmac_sha256("", "text").size(), 32u); }

}  // namespace
}  // namespace capstan
