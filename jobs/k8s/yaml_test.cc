#include "jobs/k8s/yaml.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json one(std::string_view text) {
  const auto documents = read_documents(text, "f.yaml");
  return documents.empty() ? json() : *documents.at(0).json;
}

std::string refusal(std::string_view text, const ReadLimits& limits = {}) {
  try {
    read_documents(text, "f.yaml", limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  return "nothing was wrong";
}

TEST(Yaml, ReadsSeveralDocumentsAndLeavesEmptyOnesOut) {
  const auto all = read_documents("a: 1\n---\n# nothing\n---\nb: [x, z]\n", "f");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(*all[0].json, json({{"a", 1}}));
  EXPECT_EQ(*all[1].json, json({{"b", {"x", "z"}}}));
  EXPECT_TRUE(read_documents("", "f").empty());
}

TEST(Yaml, TypesWordsAsKubernetesDoes) {
  const json got = one(R"(
yes: y
off: off
text: "yes"
word: yess
octal: 010
hex: 0x1F
under: 1_000
eight: 08
big: 18446744073709551615
half: 0.5
thousand: 1e3
version: 1.10.0
date: 2026-01-01
none: ~
empty:
str: !!str 12
)");
  EXPECT_EQ(got["true"], true);
  EXPECT_EQ(got["false"], false);
  EXPECT_EQ(got["text"], "yes");
  EXPECT_EQ(got["word"], "yess");
  EXPECT_EQ(got["octal"], 8);
  EXPECT_EQ(got["hex"], 31);
  EXPECT_EQ(got["under"], 1000);
  EXPECT_EQ(got["eight"], 8);
  EXPECT_EQ(got["big"], 18446744073709551615u);
  EXPECT_EQ(got["half"], 0.5);
  EXPECT_EQ(got["thousand"].dump(), "1000");
  EXPECT_EQ(got["version"], "1.10.0");
  EXPECT_EQ(got["date"], "2026-01-01");
  EXPECT_TRUE(got["none"].is_null());
  EXPECT_TRUE(got["empty"].is_null());
  EXPECT_EQ(got["str"], "12");
}

TEST(Yaml, NamesThatAreNumbersBecomeText) { EXPECT_EQ(one("1: a"), json({{"1", "a"}})); }

TEST(Yaml, AliasesAndMergesArePutIn) {
  const json got = one("base: &b {a: 1, c: 2}\nx:\n  <<: *b\n  a: 3\nl: [*b, *b]\n");
  EXPECT_EQ(got["x"], json({{"a", 3}, {"c", 2}}));
  EXPECT_EQ(got["l"][1], json({{"a", 1}, {"c", 2}}));
}

TEST(Yaml, KnowsWhereEachFieldStands) {
  const auto all = read_documents("spec:\n  WORKER:\n    list:\n      - name: a\n", "f");
  const Places& places = all.at(0).places;
  EXPECT_EQ(place_of(places, "spec").line, 1);
  EXPECT_EQ(place_of(places, "spec[Worker]").line, 2);
  EXPECT_EQ(place_of(places, "spec[Worker].list[0].name").line, 4);
  EXPECT_EQ(place_of(places, "spec[Worker].list[0].name").column, 9);
  EXPECT_EQ(place_of(places, "spec[Worker].list[0].image").line, 4);  // the element, which lacks it
  EXPECT_EQ(place_of(places, "nothing.of.this").line, 1);
}

TEST(Yaml, RefusesANameGivenTwiceAndShowsTheLine) {
  EXPECT_EQ(refusal("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3:1: a is given twice; the first stands in line 1. Keep one\n  a: 3\n  ^");
}

TEST(Yaml, RefusesTabsAsIndentation) {
  EXPECT_THAT(refusal("a:\n\tb: 1\n"), HasSubstr("YAML wants spaces"));
}

TEST(Yaml, RefusesAListAsAName) {
  EXPECT_THAT(refusal("? [a]\n: 1\n"), HasSubstr("a name is expected here"));
}

TEST(Yaml, RefusesControlCharacters) {
  EXPECT_THAT(refusal("a: b\x01\n"), HasSubstr("f.yaml:1:5: a control character (code 1)"));
  EXPECT_THAT(refusal("\"a\\x01\": b\n"), HasSubstr("a name has control characters"));
  EXPECT_THAT(refusal("a: \xff\n"), HasSubstr("no UTF-8"));
}

TEST(Yaml, RefusesWhatBombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += "*a" + std::to_string(i - 1) + (k < 9 ? ", " : "]\n");
  }
  EXPECT_THAT(refusal(bomb), HasSubstr("more than 200000 values"));
}

TEST(Yaml, RefusesWhatIsTooLargeOrTooDeep) {
  EXPECT_THAT(refusal(std::string(11'000'000, 'a')), HasSubstr("more than the 10000000"));
  EXPECT_THAT(refusal("a: " + std::string(5'000, '[') + std::string(5'000, ']')),
              HasSubstr("deeper than 64"));
  EXPECT_THAT(refusal(std::string(5'000, '[')), HasSubstr("f.yaml:1:1: "));
  EXPECT_THAT(refusal("{\"a\": " + std::string(5'000, '[')), HasSubstr("deeper than 64"));
}

TEST(Yaml, RefusesLongCollectionsBeforeTheyAreHeld) {
  std::string flow = "a: [";
  for (int i = 0; i < 60'000; ++i) flow += "{a: b, ";
  EXPECT_THAT(refusal(flow), HasSubstr("more than 50000 values within brackets"));
  std::string text = "a: |\n";
  for (int i = 0; i < 30'000; ++i) text += "  1,2,3,4\n";  // commas of a text are none
  EXPECT_TRUE(one(text)["a"].is_string());
}

TEST(Yaml, RefusesAnAliasWithinItself) { EXPECT_THAT(refusal("a: &a [*a]\n"), HasSubstr("alias")); }

TEST(Yaml, RefusesNumbersThatJsonLacks) {
  EXPECT_THAT(refusal("a: .nan\n"), HasSubstr("quote it"));
}

TEST(Yaml, ReadsJsonWithPlaces) {
  const std::string text = "{\n\t\"spec\": {\"a\\\"b\": 12, \"l\": [true, \"x\\/y\"]}\n}";
  const auto all = read_documents(text, "f.json");
  EXPECT_EQ((*all.at(0).json)["spec"]["l"], json({true, "x/y"}));
  const Places& places = all.at(0).places;
  EXPECT_EQ(place_of(places, "spec").line, 2);
  EXPECT_EQ(place_of(places, "spec").column, 2);
  EXPECT_EQ(place_of(places, "spec.l[0]").column, 29);
  EXPECT_EQ(place_of(places, "spec.l[1]").column, 35);
}

TEST(Yaml, RefusesBadJsonWhereItBreaks) {
  EXPECT_THAT(refusal("{\"a\": 1,\n \"a\": 2}"), HasSubstr("f.yaml:2:2: a is given twice"));
  EXPECT_THAT(refusal("{\"a\": 1,\n \"b\" 2}"), HasSubstr("f.yaml:2:"));
}

TEST(Yaml, AMapInBracesIsYamlToo) { EXPECT_EQ(one("{a: b, c: [1]}")["c"], json::array({1})); }

TEST(Yaml, CutsALongLineAroundTheColumn) {
  const std::string text = placed_text(std::string(500, 'x'), "f", {1, 300}, "here");
  EXPECT_LT(text.size(), 250u);
  EXPECT_THAT(text, HasSubstr("…"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
