#include "base/printable.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(Printable, TextStaysAsItIs) {
  EXPECT_EQ(printable("plain\n\tand grün ✓"), "plain\n\tand grün ✓");
  EXPECT_EQ(printable_with_colours("plain\n\tand grün ✓"), "plain\n\tand grün ✓");
}

TEST(Printable, NoControlCharacterPasses) {
  EXPECT_EQ(printable("\x1b]0;owned\x07\rx\x7f"), "\\x1b]0;owned\\x07\\x0dx\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // the C1 form of ESC [
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, BytesThatAreNoTextAreShownAsSuch) {
  EXPECT_EQ(printable("\xff\x9b"), "\\xff\\x9b");
}

TEST(Printable, AProgramKeepsItsColoursAndNothingElse) {
  EXPECT_EQ(printable_with_colours("\x1b[1;31mred\x1b[0m"), "\x1b[1;31mred\x1b[0m");
  EXPECT_EQ(printable_with_colours("\x1b[2Ka\x1b[1Ab"), "ab");
  EXPECT_EQ(printable_with_colours("\x1b]0;owned\x07"), "\\x1b]0;owned\\x07");
  EXPECT_EQ(printable_with_colours("cut \x1b[31"), "cut \\x1b[31");
}

}  // namespace
}  // namespace capstan
