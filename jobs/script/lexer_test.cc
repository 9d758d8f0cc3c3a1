#include "jobs/script/lexer.h"

#include <gtest/gtest.h>

#include <chrono>

namespace capstan::script {
namespace {

// "w:a" for a word, r reserved, q in backquotes, s string, b block, c command, o other.
std::string tokens(std::string_view text) {
  std::string out;
  Lexer lexer(text);
  for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) {
    if (!out.empty()) out += ' ';
    out += "ewrqsbco"[size_t(token.kind)];
    out += ":" + std::string(token.text);
  }
  return out;
}

TEST(Lexer, TellsWordsFromReservedOnes) {
  EXPECT_EQ(tokens("Load loads 1 _a 0.1"), "r:Load w:loads w:1 w:_a w:0 o:. w:1");
}

TEST(Lexer, ReadsQuotes) {
  EXPECT_EQ(tokens("'a' \"b'\" `c`"), "s:'a' s:\"b'\" q:`c`");
  EXPECT_EQ(tokens(R"('a\'b' "\\")"), R"(s:'a\'b' s:"\\")");
  EXPECT_EQ(tokens("`a``b` ``"), "q:`a``b` q:``");
}

TEST(Lexer, ReadsBlocks) {
  EXPECT_EQ(tokens("'''a'b''c'''"), "b:'''a'b''c'''");
  EXPECT_EQ(tokens("''''''"), "s:'' s:'' s:''");
  EXPECT_EQ(tokens("'''+a'''"), "s:'' s:'+a' s:''");
  EXPECT_EQ(tokens("'''a''"), "s:'' s:'a' o:'");
}

TEST(Lexer, PassesOverComments) {
  EXPECT_EQ(tokens("a--b\nc/*d*/e/**/f"), "w:a w:c w:e w:f");
  EXPECT_EQ(tokens("/*+a*/"), "o:/ o:* o:+ w:a o:* o:/");
  EXPECT_EQ(tokens("a /* b"), "w:a o:/ o:* w:b");
}

TEST(Lexer, ReadsCommands) {
  EXPECT_EQ(tokens("!show a!=b ! x"), "c:!show w:a o:! o:= w:b o:! w:x");
}

TEST(Lexer, TakesAnyOtherCharacterAlone) { EXPECT_EQ(tokens("数\xff;"), "o:数 o:\xff o:;"); }

TEST(Lexer, LeavesQuotesThatAreNotClosed) {
  EXPECT_EQ(tokens("don't"), "w:don o:' w:t");
  EXPECT_EQ(tokens("`a"), "o:` w:a");
  EXPECT_EQ(tokens("`a``b"), "q:`a` o:` w:b");
}

TEST(Lexer, TakesTimeInProportionToTheText) {
  for (const char* piece : {"'\\", "/*'", "`a`", "'''+", "\"\\\"", "/*+"}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    const auto begin = std::chrono::steady_clock::now();
    tokens(text);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << piece;
  }
}

}  // namespace
}  // namespace capstan::script
