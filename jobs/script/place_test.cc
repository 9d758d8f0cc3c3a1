#include "jobs/script/place.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace capstan::script {
namespace {

Place place(std::string text, size_t offset) {
  return {std::make_shared<const Source>(Source{"job.mlsql", std::move(text)}), offset};
}

TEST(Place, CountsLinesAndCharacters) {
  EXPECT_EQ(place("ab\ncd", 0).text(), "job.mlsql:1:1");
  EXPECT_EQ(place("ab\ncd", 4).text(), "job.mlsql:2:2");
  EXPECT_EQ(place("数据x", 6).text(), "job.mlsql:1:3");
  EXPECT_EQ(place("ab\n", 100).text(), "job.mlsql:2:1");
}

TEST(ErrorAt, ShowsTheLineAndACaret) {
  const Error error = error_at(place("one\n\ttwo 数 three\nfour", 13), Code::kNotFound, "no three");
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_EQ(error.message(),
            "job.mlsql:2:8: no three\n"
            "   two 数 three\n"
            "         ^");
}

TEST(ErrorAt, ShowsNothingThatATerminalObeys) {
  const Error error = error_at(place("a\x1b[2Jb\xff", 7), Code::kNotFound, "x");
  EXPECT_EQ(error.message(), "job.mlsql:1:8: x\n  a?[2Jb?\n         ^");
}

TEST(ErrorAt, ShowsAPieceOfALongLine) {
  std::string text(5'000'000, 'a');
  text += 'X';
  text.append(5'000'000, 'b');
  const std::string message = error_at(place(text, 5'000'000), Code::kNotFound, "x").message();
  EXPECT_LT(message.size(), 500);
  EXPECT_NE(message.find("aaaXbbb"), message.npos);
}

TEST(ErrorAt, KnowsItsOwnErrors) {
  const Place there = place("abc", 1);
  EXPECT_TRUE(tells_place(error_at(there, Code::kNotFound, "x"), there));
  EXPECT_FALSE(tells_place(Error(Code::kNotFound, "job.mlsql is gone"), there));
  EXPECT_FALSE(tells_place(Error(Code::kNotFound, "other:1:1: x"), there));
}

TEST(Shown, CutsAndKeepsToOneLine) {
  EXPECT_EQ(shown("abc"), "abc");
  EXPECT_EQ(shown("a\nb"), "a…");
  EXPECT_EQ(shown("\x1b[m"), "?[m");
  EXPECT_EQ(shown(std::string(100, 'x')), fmt::format("{:x>60}…", ""));
}

}  // namespace
}  // namespace capstan::script
