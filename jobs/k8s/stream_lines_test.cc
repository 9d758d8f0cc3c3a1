#include "jobs/k8s/stream_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace capstan::jobs::k8s {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> cut(std::string_view text, size_t piece, size_t most = 100) {
  LineCutter cutter(most);
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.size(); i += piece) {
    const bool short_enough = cutter.feed(text.substr(i, piece), [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    if (!short_enough) lines.push_back("too long: " + cutter.take_rest());
    if (!short_enough) break;
  }
  return lines;
}

TEST(LineCutter, FindsTheSameLinesHoweverTheyAreCut) {
  for (size_t piece = 1; piece < 12; ++piece) {
    EXPECT_THAT(cut("one\n\nthree\nrest", piece), ElementsAre("one", "", "three")) << piece;
  }
}

TEST(LineCutter, StopsAtALineThatIsTooLong) {
  EXPECT_THAT(cut("ok\n123456789", 4, 6), ElementsAre("ok", "too long: 123456"));
  EXPECT_THAT(cut("123456\n", 3, 6), ElementsAre("123456"));
}

TEST(LineCutter, TellsNothingAfterItWasToldToStop) {
  LineCutter cutter(100);
  int lines = 0;
  EXPECT_TRUE(cutter.feed("a\nb\nc\n", [&](std::string_view) { return ++lines < 2; }));
  EXPECT_EQ(lines, 2);
}

std::string read(std::string_view line) {
  std::string told;
  try {
    read_watch_line(line, [&](std::string_view type, nlohmann::json&& object) {
      told = std::string(type) + object.dump();
    });
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDataLoss);
    told = error.message();
  }
  return told;
}

TEST(WatchLine, HasATypeAndAnObject) {
  EXPECT_EQ(read(R"({"type":"ADDED","object":{"a":1}})"), R"(ADDED{"a":1})");
  EXPECT_THAT(read(R"({"type":"ADDED"})"), HasSubstr("no event of a watch"));
  EXPECT_THAT(read(R"({"type":1,"object":{}})"), HasSubstr("no event of a watch"));
  EXPECT_THAT(read("<html>\x1b"), HasSubstr("no JSON, it begins with: <html>\\x1b"));
}

TEST(WatchLine, MayNotNestDeeply) {
  EXPECT_THAT(read(std::string(100'000, '[')), HasSubstr("nests too deeply"));
  EXPECT_THAT(read("\"" + std::string(1000, '[') + "\""), HasSubstr("no event"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
