#include "jobs/duck/test_engine.h"

namespace capstan::duck {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(DuckTest, CsvWithoutHeaderHasSparksColumnNames) {
  load("csv", file("a.csv", "1,x\n2,y\n"));
  EXPECT_EQ(all("t"), "_c0,_c1|1,x|2,y");
}

TEST_F(DuckTest, CsvOptionsAreHonoured) {
  load("csv", file("a.csv", "a;b\n1;'x;''y'\nNA;z\n"),
       {{"header", "true"}, {"sep", ";"}, {"quote", "'"}, {"nullValue", "NA"}});
  EXPECT_EQ(all("t"), "a,b|1,x;'y|null,z");
  load("csv", file("b.csv", "a\tb\n1\t2\n"), {{"HEADER", "true"}, {"delimiter", "\\t"}});
  EXPECT_EQ(all("t"), "a,b|1,2");
}

TEST_F(DuckTest, CsvTypesAreInferredUnlessTheyShallNotBe) {
  std::string path = file("a.csv", "a,b\n1,2.5\n");
  load("csv", path, {{"header", "true"}});
  EXPECT_EQ(engine->columns("t")[0].type, "BIGINT");
  EXPECT_EQ(engine->columns("t")[1].type, "DOUBLE");
  load("csv", path, {{"header", "true"}, {"inferSchema", "false"}});
  EXPECT_EQ(engine->columns("t")[0].type, "VARCHAR");
}

TEST_F(DuckTest, ADateFormatIsJavas) {
  load("csv", file("a.csv", "d\n16/11/2026\n"), {{"header", "true"}, {"dateFormat", "dd/MM/yyyy"}});
  EXPECT_EQ(all("t"), "d|2026-11-16");
}

TEST_F(DuckTest, JsonLinesGiveTheColumnsOfAllLines) {
  std::string lines;
  for (int i = 0; i < 30000; ++i) lines += "{\"a\":1,\"d\":\"2026-11-16\"}\n";
  load("json", file("a.json", lines + "{\"a\":2,\"late\":[1,2]}\n"));
  EXPECT_EQ(answer("select count(*) as n, max(late) as late, max(typeof(d)) as d from t"),
            "n,late,d|30001,[1,2],VARCHAR");
}

TEST_F(DuckTest, JsonMayBeOneArrayOverManyLines) {
  load("json", file("a.json", "[{\"a\": 1},\n {\"a\":\n 2}]"), {{"multiLine", "true"}});
  EXPECT_EQ(all("t"), "a|1|2");
}

TEST_F(DuckTest, JsonMayBeOneArrayOfRows) {
  load("json", file("a.json", "[{\"a\":1},{\"a\":2}]"));
  EXPECT_EQ(all("t"), "a|1|2");
  load("json", file("b.json", "\xef\xbb\xbf \n[\n{\"a\":\n1},\n{\"b\":\"é,]\"}\n]\n"));
  EXPECT_EQ(all("t"), "a,b|1,null|null,é,]");
  file("in/1.json", "[{\"a\":1}]");
  file("in/2.json", "{\"a\":2}\n{\"a\":3}\n");
  load("json", folder + "/in");
  EXPECT_EQ(all("t"), "a|1|2|3");
  engine->load({"json", "", "[{\"a\":7}]", {}}, "t");
  EXPECT_EQ(all("t"), "a|7");
}

TEST_F(DuckTest, JsonWithoutRowsIsAnEmptyTable) {
  for (const char* bytes : {"", "\n", "[]", " [ ] \n"}) {
    load("json", file("a.json", bytes));
    EXPECT_EQ(engine->rows("t", -1).total, 0) << bytes;
  }
}

TEST_F(DuckTest, JsonKeepsWholeNumbersTruthAndText) {
  load("json", file("a.json",
                    "{\"i\":9007199254740993,\"u\":18446744073709551615,\"b\":true,"
                    "\"s\":\"\\u00e9\\ud83d\\ude00\",\"n\":null}\n"));
  EXPECT_EQ(all("t"), "i,u,b,s,n|9007199254740993,18446744073709551615,true,é😀,null");
}

TEST_F(DuckTest, TextIsOneRowPerLineWhateverIsInIt) {
  load("text", file("a.txt", "a,b\t\"q\n\n'x' | y\\n\nend"));
  EXPECT_EQ(all("t"), "value|a,b\t\"q||'x' | y\\n|end");
}

TEST_F(DuckTest, BytesOfTheScriptAreLoadedLikeAFile) {
  engine->load({"json", "", "{\"a\":1}\n{\"a\":2}", {}}, "t");
  EXPECT_EQ(all("t"), "a|1|2");
  engine->load({"csv", "", "a,b\n1,2\n", {{"header", "true"}}}, "t");
  EXPECT_EQ(all("t"), "a,b|1,2");
}

TEST_F(DuckTest, AFolderAndAPatternAreManyFiles) {
  file("in/b.csv", "2\n");
  file("in/a.csv", "1\n");
  file("in/_SUCCESS", "not data");
  file("in/.hidden", "not data");
  load("csv", folder + "/in");
  EXPECT_EQ(all("t"), "_c0|1|2");
  load("csv", folder + "/in/{b,c}*.csv");
  EXPECT_EQ(all("t"), "_c0|2");
}

TEST_F(DuckTest, FilesOfOtherColumnsLoseNothing) {
  file("in/1.csv", "a,b\n1,x\n");
  file("in/2.csv", "c,a\nz,2\n");
  load("csv", folder + "/in", {{"header", "true"}});
  EXPECT_EQ(answer("select a, b, c from t order by a"), "a,b,c|1,x,null|2,null,z");
}

TEST_F(DuckTest, FoldersNamedAfterValuesGiveAColumn) {
  file("in/d=1/a.json", "{\"x\":1}\n");
  file("in/d=2/a.json", "{\"x\":2}\n");
  load("json", folder + "/in");
  EXPECT_EQ(all("t"), "x,d|1,1|2,2");
}

TEST_F(DuckTest, AFolderAboveTheOneThatWasNamedGivesNoColumn) {
  file("k=7/in/a.csv", "1\n");
  load("csv", folder + "/k=7/in");
  EXPECT_EQ(all("t"), "_c0|1");
  file("k=7/by/d=1/a.csv", "1\n");
  file("k=7/by/d=2/a.csv", "2\n");
  load("csv", folder + "/k=7/by");
  EXPECT_EQ(all("t"), "_c0,d|1,1|2,2");
  load("csv", folder + "/k=7/by/d=*");
  EXPECT_EQ(all("t"), "_c0,d|1,1|2,2");
}

TEST_F(DuckTest, AFolderOfAValueThatIsNamedItselfGivesNoColumn) {
  file("in/d=1/a.csv", "1\n");
  load("csv", folder + "/in/d=1");
  EXPECT_EQ(all("t"), "_c0|1");
  load("csv", folder + "/in/d=1/a.csv");
  EXPECT_EQ(all("t"), "_c0|1");
}

TEST_F(DuckTest, AChangeOfTheFileAfterwardsChangesNothing) {
  std::string path = file("a.csv", "1\n");
  load("csv", path);
  file("a.csv", "9\n");
  EXPECT_EQ(all("t"), "_c0|1");
}

TEST_F(DuckTest, AMissingFileIsNotFound) {
  EXPECT_THAT(thrown([&] { load("csv", folder + "/no.csv"); }), StartsWith("NotFound: "));
  EXPECT_THAT(thrown([&] { load("csv", folder + "/*.csv"); }), StartsWith("NotFound: "));
}

TEST_F(DuckTest, ALinkOutOfTheFolderIsRefused) {
  std::string secret = file("secret.csv", "1\n");
  file("in/a.csv", "2\n");
  std::filesystem::create_symlink(secret, folder + "/in/b.csv");
  EXPECT_THAT(thrown([&] { load("csv", folder + "/in"); }),
              AllOf(StartsWith("PermissionDenied: "), HasSubstr("leads out of")));
}

// Each: what is wrong, and the line that the message names.
struct Damaged {
  const char* format;
  std::string bytes;
  const char* line;
  const char* reason;
};

TEST_F(DuckTest, DamagedInputIsNamedWithFileAndLine) {
  std::string many;
  for (int i = 0; i < 30000; ++i) many += "1,2\n";
  const Damaged cases[] = {
      {"csv", "a,b\n1,2\n3,\"cut", "3", "quote"},
      {"csv", "a,b\n" + many + "x,2\n", "30002", "inferSchema"},
      {"csv", "a,b\n" + many + "1,2,3\n", "30002", "olumn"},
      {"csv", "a,b\n1,ok\n2,\xff\xfe\n", "3", "utf-8"},
      {"json", "{\"a\":1}\n{\"a\":\n", "2", "end of data"},
      {"json", "{\"a\":1}\n{\"a\":\"\xff\"}\n", "2", "UTF-8"},
      {"json", "{\"a\":1}\nno json\n", "2", ""},
      {"json", "[{\"a\":1},\n{\"a\":", "2", "end of data"},
      {"json", "[{\"a\":1},\n\n{\"a\":\"\xff\"}]", "3", "UTF-8"},
      {"json", "[{\"a\":1}]\n[{\"a\":1}]\n", "2", ""},
      {"json", "[{\"a\":1},\n{\"a\":2},\n7]", "3", "a row is an object"},
      {"json", "{\"a\":1}\n\n\"text\"\n", "3", "a row is an object"},
      {"json", "[{\"a\":1},\n{\"b\":1,\n\"b\":2}]", "2", "duplicate key"},
      {"parquet", "PAR1abcdefghijklmnop", "", "magic"},
      {"text", "ok\n\xff\xfe\n", "2", "utf-8"},
  };
  for (const Damaged& damaged : cases) {
    std::string path = file(std::string("bad.") + damaged.format, damaged.bytes);
    std::string place = path + (*damaged.line ? std::string(":") + damaged.line : "") + ": ";
    EXPECT_THAT(thrown([&] {
                  load(damaged.format, path, {{"header", "true"}});
                }),
                AllOf(StartsWith("DataLoss: " + place), HasSubstr(damaged.reason)))
        << damaged.bytes.substr(0, 40);
    EXPECT_FALSE(testing::Test::HasFatalFailure());
  }
}

TEST_F(DuckTest, AParquetFileIsNamedWhereverItsDamageIs) {
  engine->select("select i, 'row ' || i as s from range(100) as r(i)", "t");
  engine->save("t", {"parquet", folder + "/out", script::SaveMode::kErrorIfExists, 1, {}, {}});
  const std::string good = content(std::filesystem::directory_iterator(folder + "/out")->path());
  for (size_t at = 4; at < good.size(); at += 7) {
    std::string bytes = good;
    bytes[at] = char(bytes[at] ^ 0xff);
    const std::string path = file("bad.parquet", bytes);
    EXPECT_THAT(thrown([&] { load("parquet", path); }),
                AnyOf("", StartsWith("DataLoss: " + path + ": ")))
        << at;
  }
}

TEST_F(DuckTest, AnotherEncodingIsRefused) {
  EXPECT_THAT(thrown([&] {
                load("csv", file("a.csv", "1\n"), {{"encoding", "GBK"}});
              }),
              StartsWith("InvalidArgument: encoding gbk"));
}

TEST_F(DuckTest, AFailedLoadLeavesTheOldTable) {
  load("csv", file("a.csv", "1\n"));
  EXPECT_NE(thrown([&] { load("json", file("a.json", "{")); }), "");
  EXPECT_EQ(all("t"), "_c0|1");
}

}  // namespace
}  // namespace capstan::duck
