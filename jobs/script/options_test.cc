#include "jobs/script/options.h"

#include <gtest/gtest.h>

namespace capstan::script {
namespace {

constexpr OptionDef kKnown[] = {
    {"psNum", OptionType::kInt, "1", "How many.", "", false, 1},
    {"rate", OptionType::kNumber, "0.5", "How fast."},
    {"keepVersion", OptionType::kBool, "true", "Whether."},
    {"fileFormat", OptionType::kChoice, "json", "Which.", "json|parquet"},
    {"fitParam.0.*", OptionType::kText, "", "For the script."},
    {"scripts", OptionType::kText, "", "Which tables.", "", true},
};

Options make(std::vector<std::pair<std::string, std::string>> given, bool scripts = true) {
  const auto source = std::make_shared<const Source>(Source{"s", "train x where y"});
  std::vector<Option> options;
  if (scripts) options.push_back({"scripts", "a", {source, 14}});
  for (auto& [key, value] : given) options.push_back({key, value, {source, 8}});
  return Options(options, kKnown, {source, 0});
}

std::string error_of(std::vector<std::pair<std::string, std::string>> given, bool scripts = true) {
  try {
    make(std::move(given), scripts);
  } catch (const Error& error) {
    return error.message().substr(0, error.message().find('\n'));
  }
  return "none";
}

TEST(Options, HaveTheirStandardsUnlessGiven) {
  const Options none = make({});
  EXPECT_EQ(none.integer("psNum"), 1);
  EXPECT_EQ(none.number("rate"), 0.5);
  EXPECT_TRUE(none.flag("keepVersion"));
  EXPECT_EQ(none.text("fileFormat"), "json");
  EXPECT_FALSE(none.has("psNum"));
  EXPECT_EQ(none.place_of("psNum").column(), 1);
}

TEST(Options, CompareKeysWithoutCase) {
  const Options given = make({{"PSNUM", "3"}, {"keepversion", "FALSE"}});
  EXPECT_EQ(given.integer("psNum"), 3);
  EXPECT_FALSE(given.flag("keepVersion"));
  EXPECT_EQ(given.place_of("psnum").column(), 9);
  EXPECT_EQ(given.all()[1].first, "psNum");
}

TEST(Options, KeepWhatStandsBelowAPrefix) {
  const Options given = make({{"fitParam.0.ps.num", "2"}, {"fitparam.0.x", "y"}});
  const std::vector<std::pair<std::string, std::string>> wanted = {{"ps.num", "2"}, {"x", "y"}};
  EXPECT_EQ(given.below("fitParam.0."), wanted);
  EXPECT_EQ(given.text("fitParam.0.x"), "y");
}

TEST(Options, RefuseWhatDoesNotFit) {
  EXPECT_EQ(error_of({{"psNumb", "1"}}), "s:1:9: unknown option psNumb; did you mean psNum?");
  EXPECT_EQ(error_of({{"psNum", "0"}}), "s:1:9: option psNum is \"0\"; it must be at least 1");
  EXPECT_EQ(error_of({{"psNum", "99999999999999999999"}}),
            "s:1:9: option psNum is \"99999999999999999999\"; it must be a whole number");
  EXPECT_EQ(error_of({{"rate", "nan"}}), "s:1:9: option rate is \"nan\"; it must be a number");
  EXPECT_EQ(
      error_of({{"fileFormat", "jsn"}}),
      "s:1:9: option fileFormat is \"jsn\"; it must be one of json, parquet; did you mean json?");
  EXPECT_EQ(error_of({{"rate", "1"}, {"RATE", "2"}}),
            "s:1:9: option RATE is given twice; first at s:1:9");
  EXPECT_EQ(error_of({}, false), "s:1:1: option scripts is missing: Which tables.");
  EXPECT_EQ(error_of({{"fitParam.0.", "1"}}).substr(0, 21), "s:1:9: unknown option");
}

}  // namespace
}  // namespace capstan::script
