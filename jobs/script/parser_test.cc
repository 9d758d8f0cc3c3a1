#include "jobs/script/parser.h"

#include <gtest/gtest.h>

namespace capstan::script {
namespace {

Script parse_text(std::string text, bool macro = false) {
  return parse(std::make_shared<const Source>(Source{"s", std::move(text)}), macro);
}

template <class Kind>
Kind only(std::string text) {
  return std::get<Kind>(parse_text(std::move(text)).statements.at(0).body);
}

TEST(Parser, KeepsWhereTextsStand) {
  const auto load = only<LoadStatement>("load csv.`/a` where `k.0`='''v''' as t;");
  EXPECT_EQ(load.from.path.text, "/a");
  EXPECT_EQ(load.from.path.at, 10u);
  EXPECT_EQ(load.options.at(0).key.text, "k.0");
  EXPECT_EQ(load.options.at(0).key.at, 21u);
  EXPECT_EQ(load.options.at(0).value.text, "v");
  EXPECT_EQ(load.options.at(0).value.at, 29u);
  EXPECT_EQ(load.table.text, "t");
}

TEST(Parser, CutsTheNameFromASelect) {
  const auto select = only<SelectStatement>("select 1 as a /* x */ as data -- y\n;");
  EXPECT_EQ(select.sql.text, "select 1 as a /* x */ ");
  EXPECT_EQ(select.table.text, "data");
}

TEST(Parser, KeepsTheKeysOfTheSeed) {
  const auto train = only<TrainStatement>(
      "train data as DTF.`/tmp/tf/model` where fitParam.0.fileFormat=\"json\" -- x\n"
      "and `fitParam.0.psNum`=\"1\";");
  EXPECT_EQ(train.options.at(0).key.text, "fitParam.0.fileFormat");
  EXPECT_EQ(train.options.at(1).key.text, "fitParam.0.psNum");
  EXPECT_FALSE(train.result);
}

TEST(Parser, ReadsModesAndPartitions) {
  const auto save = only<SaveStatement>("save overwrite t as parquet.`/p` partitionBy d, `h i`;");
  EXPECT_EQ(save.mode, SaveMode::kOverwrite);
  ASSERT_EQ(save.partition_by.size(), 2u);
  EXPECT_EQ(save.partition_by[1].text, "h i");
}

TEST(Parser, JoinsPiecesOfAnArgument) {
  const auto command = only<CommandStatement>("!hdfs -ls /tmp/a.b `c d` '''e''';");
  std::vector<std::string> arguments;
  for (const Text& argument : command.arguments) arguments.push_back(argument.text);
  EXPECT_EQ(arguments, (std::vector<std::string>{"-ls", "/tmp/a.b", "c d", "e"}));
}

TEST(Parser, NeedsNoLastSemicolonInAMacro) {
  EXPECT_EQ(parse_text("select 1 as a as t; select 2 as b as u", true).statements.size(), 2u);
  EXPECT_EQ(parse_text("!if \"1\"; !fi", true).statements.size(), 1u);
}

TEST(Parser, KnowsTheTextOfAStatement) {
  const Script script = parse_text(" set a=1 ; /* x */ set b=2 where type=\"conf\" ;");
  EXPECT_EQ(script.text(script.statements[0]), "set a=1");
  EXPECT_EQ(script.text(script.statements[1]), "set b=2 where type=\"conf\"");
}

TEST(Parser, RefusesAScriptThatIsTooLong) {
  try {
    parse_text(std::string(100 << 20, ' '));
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(error.message().starts_with(
        "s:1:1: the script has 104857600 bytes, and the longest that is read has 16777216\n"));
  }
}

std::string error_of(std::string text) {
  try {
    parse_text(std::move(text));
  } catch (const Error& error) {
    return error.message();
  }
  return "none";
}

TEST(Parser, RefusesWhatIsNestedTooDeep) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "!if \"1\";";
  EXPECT_NE(error_of(text).find("!if is nested more than 50 deep"), std::string::npos);
}

TEST(Parser, RefusesTooManyOptions) {
  std::string text = "load csv.`a` where a=\"1\"";
  for (int i = 0; i < 100'000; ++i) text += " and a=\"1\"";
  EXPECT_NE(error_of(text).find("more than 1000 options"), std::string::npos);
}

TEST(Parser, ShowsLongWordsCut) {
  EXPECT_LT(error_of(std::string(10'000'000, 'a')).size(), 1000u);
  EXPECT_LT(error_of("set a=\"" + std::string(10'000'000, 'a') + "\" b").size(), 1000u);
}

}  // namespace
}  // namespace capstan::script
