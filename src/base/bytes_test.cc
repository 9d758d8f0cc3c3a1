#include "base/bytes.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(Bytes, FixedNumbersAreLittleEndianAndComeBack) {
  std::string out;
  put_fixed32(out, 0x01020304u);
  put_fixed64(out, 0x1122334455667788u);
  EXPECT_EQ(out.substr(0, 4), "\x04\x03\x02\x01");
  std::string_view in = out;
  EXPECT_EQ(take_fixed32(in), 0x01020304u);
  EXPECT_EQ(take_fixed64(in), 0x1122334455667788u);
  EXPECT_TRUE(in.empty());
}

TEST(Bytes, VarintsComeBackAtTheirEdges) {
  for (uint64_t value :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 32, UINT64_MAX}) {
    std::string out;
    put_varint(out, value);
    std::string_view in = out;
    EXPECT_EQ(take_varint(in), value);
    EXPECT_TRUE(in.empty());
  }
}

TEST(Bytes, TruncatedInputIsRefusedAndLeftAlone) {
  std::string out;
  put_varint(out, UINT64_MAX);
  for (size_t size = 0; size < out.size(); ++size) {
    std::string_view in = std::string_view(out).substr(0, size);
    EXPECT_EQ(take_varint(in), std::nullopt);
    EXPECT_EQ(in.size(), size);
  }
  std::string_view three = "abc";
  EXPECT_EQ(take_fixed32(three), std::nullopt);
  EXPECT_EQ(take_bytes(three, 4), std::nullopt);
  EXPECT_EQ(take_bytes(three, 3), "abc");
}

TEST(Bytes, VarintsThatDoNotFitAreRefused) {
  std::string too_long(11, '\x80');
  std::string_view in = too_long;
  EXPECT_EQ(take_varint(in), std::nullopt);
  std::string over = std::string(9, '\xff') + "\x02";  // 2^64
  in = over;
  EXPECT_EQ(take_varint(in), std::nullopt);
  std::string big;
  put_varint(big, uint64_t{1} << 32);
  in = big;
  EXPECT_EQ(take_varint32(in), std::nullopt);
  EXPECT_EQ(in.size(), big.size());
}

}  // namespace
}  // namespace capstan
