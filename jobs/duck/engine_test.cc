#include "jobs/duck/core.h"
#include "jobs/duck/test_engine.h"
#include "jobs/script/rows_text.h"

namespace capstan::duck {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(DuckTest, SelectMakesATableOfItsResult) {
  engine->select("select 1 as a, 'x' as b union all select 2, null order by a", "t");
  EXPECT_EQ(all("t"), "a,b|1,x|2,null");
  EXPECT_THAT(engine->tables(), ElementsAre("t"));
}

TEST_F(DuckTest, ATableMayBeReplacedByAQueryOfItself) {
  engine->select("select 1 as a", "t");
  engine->select("select a + 1 as a from t", "t");
  EXPECT_EQ(all("T"), "a|2");
}

TEST_F(DuckTest, ATableDoesNotChangeWithItsSource) {
  engine->select("select 1 as a", "source");
  engine->select("select a from source", "t");
  engine->select("select 7 as a", "source");
  EXPECT_EQ(all("t"), "a|1");
}

TEST_F(DuckTest, DefinedRowsComeBack) {
  script::Rows rows;
  rows.columns = {
      {"n", "BIGINT"}, {"x", "DOUBLE"}, {"s", "VARCHAR"}, {"ok", "BOOLEAN"}, {"v", "FLOAT[]"}};
  rows.rows = {
      {int64_t(1), 0.5, std::string("it's"), true, std::string("[1.5, 2]")},
      {std::monostate{}, std::monostate{}, std::monostate{}, std::monostate{}, std::monostate{}}};
  engine->define("t", rows);
  EXPECT_EQ(all("t"), "n,x,s,ok,v|1,0.5,it's,true,[1.5,2]|null,null,null,null,null");
  EXPECT_EQ(engine->columns("t")[4].type, "FLOAT[]");
}

TEST_F(DuckTest, DefineRefusesWhatIsNoType) {
  script::Rows rows{{{"a", "INT; drop table x"}}, {}, 0};
  EXPECT_THAT(thrown([&] { engine->define("t", rows); }), HasSubstr("is no type of a column"));
}

TEST_F(DuckTest, RowsAreLimitedAndTheirTotalIsSaid) {
  engine->select("select * from range(100) as r(i)", "t");
  script::Rows rows = engine->rows("t", 3);
  EXPECT_EQ(text(rows), "i|0|1|2");
  EXPECT_EQ(rows.total, 100);
  EXPECT_EQ(engine->query("select i from t where i > 90", 2).total, 9);
}

TEST_F(DuckTest, NestedValuesAreJsonAndDatesAreText) {
  EXPECT_EQ(answer("select [1, 2] as l, {'a': 1} as s, date '2026-11-16' as d, 1.25 as x"),
            "l,s,d,x|[1,2],{\"a\":1},2026-11-16,1.25");
}

// Each: SQL, and its one cell as JSON. The table and CSV have the same digits.
TEST_F(DuckTest, CellsAreExactToTheLastDigit) {
  const std::pair<std::string, std::string> cases[] = {
      {"0.1::float", "0.1"},
      {"16777217::float", "16777216"},
      {"3.4028235e38::float", "3.4028235e+38"},
      {"0.1::double + 0.2::double", "0.30000000000000004"},
      {"5e-324::double", "5e-324"},
      {"1.7976931348623157e308::double", "1.7976931348623157e+308"},
      {"'nan'::double", "null"},
      {"'-inf'::float", "null"},
      {"1.10::decimal(5,2)", "1.10"},
      {"12345678901234567890.123456789::decimal(38,9)", "12345678901234567890.123456789"},
      {"(-0.5)::decimal(3,2)", "-0.50"},
      {"9223372036854775807", "9223372036854775807"},
      {"(-9223372036854775808)::bigint", "-9223372036854775808"},
      {"18446744073709551615::ubigint", "18446744073709551615"},
      {"170141183460469231731687303715884105727::hugeint",
       "170141183460469231731687303715884105727"},
      {"255::utinyint", "255"},
      {"true", "true"},
      {"null", "null"},
      {"date '2026-11-16'", "\"2026-11-16\""},
      {"timestamp '2026-11-16 01:02:03.000004'", "\"2026-11-16 01:02:03.000004\""},
      {"'a\"é' || chr(10) || chr(1)", "\"a\\\"é\\n\\u0001\""},
      {"[0.1::float, null, 'nan'::float]", "[0.1,null,null]"},
      {"[0.10::decimal(4,2)]", "[0.10]"},
      {"[1.5::float, 2]::float[2]", "[1.5,2]"},
      {"{'a': [{'b': 0.1::float}], 'c d': date '2026-11-16', 'e': null}",
       "{\"a\":[{\"b\":0.1}],\"c d\":\"2026-11-16\",\"e\":null}"},
      {"map {1: 0.1::float, 2: null}", "{\"1\":0.1,\"2\":null}"},
      {"map {'a': [18446744073709551615::ubigint]}", "{\"a\":[18446744073709551615]}"},
      {"[]::int[]", "[]"},
      {"'{\"a\":\n 1}'::json", "{\"a\":  1}"},
      {"union_value(k := 2)", "{\"k\":2}"},
      {"[[1, 2], null, []]", "[[1,2],null,[]]"},
  };
  for (const auto& [sql, json] : cases) {
    EXPECT_EQ(script::rows_as_json(engine->query("select " + sql + " as c", -1)),
              "{\"c\":" + json + "}\n")
        << sql;
  }
}

TEST_F(DuckTest, ATableIsReadABatchAtATime) {
  engine->select(
      "select i, {'d': i::decimal(9,1), 'l': [i::float / 4, null], 'c': 'x', 'e': [date "
      "'2026-11-16']} as s from range(10000) as r(i)",
      "t");
  const auto reader = engine->read("t");
  engine->drop("t");
  int64_t seen = 0, batches = 0;
  for (script::Rows rows = reader->next(); !rows.rows.empty(); rows = reader->next()) {
    EXPECT_EQ(rows.first, seen);
    EXPECT_EQ(rows.total, 10000);
    for (const auto& row : rows.rows) {
      const int64_t i = std::get<int64_t>(row[0]);
      ASSERT_EQ(i, seen + (&row - rows.rows.data()));
      ASSERT_EQ(shown(row[1]), fmt::format("{{\"d\":{}.0,\"l\":[{},null],\"c\":\"x\",\"e\":"
                                           "[\"2026-11-16\"]}}",
                                           i, float(i) / 4));
    }
    EXPECT_LT(rows.rows.size(), 10000u);
    seen += int64_t(rows.rows.size());
    ++batches;
  }
  EXPECT_EQ(seen, 10000);
  EXPECT_GT(batches, 1);
  EXPECT_TRUE(reader->next().rows.empty());
}

TEST_F(DuckTest, SumsAreOf64Bits) {
  engine->select("select sum(i) as s from range(10) as r(i)", "t");
  EXPECT_EQ(engine->columns("t")[0].type, "BIGINT");
  EXPECT_EQ(all("t"), "s|45");
}

TEST_F(DuckTest, AMissingTableIsNamedWithTheNearest) {
  engine->select("select 1 as a", "users");
  EXPECT_EQ(thrown([&] { answer("select * from user"); }),
            "NotFound: there is no table user; did you mean users?");
  EXPECT_EQ(thrown([&] { engine->rows("uses", 1); }),
            "NotFound: there is no table uses; did you mean users?");
}

TEST_F(DuckTest, BadSqlIsPlacedInTheTextThatWasGiven) {
  std::string sql = "/* é */ select `a b`,\n  nope from (select 1 as `a b`)";
  try {
    engine->select(sql, "t");
    FAIL();
  } catch (const script::SqlError& error) {
    EXPECT_EQ(error.offset(), sql.find("nope")) << error.message();
    EXPECT_THAT(error.message(), HasSubstr("nope"));
  }
}

TEST_F(DuckTest, OrdersMakeFillAndDropTables) {
  engine->execute("create table T (A int, `b c` string)");
  engine->execute("insert into t values (1, \"x\")");
  engine->execute("insert into table t (`b c`) select 'y';");
  EXPECT_EQ(all("t"), "A,b c|1,x|null,y");
  engine->execute("create or replace table t as select 3 as a");
  engine->execute("create table if not exists t as select 4 as a");
  EXPECT_EQ(all("t"), "a|3");
  engine->execute("insert overwrite table t select 5");
  engine->execute("refresh table t");
  EXPECT_EQ(all("t"), "a|5");
  engine->execute("drop table t");
  engine->execute("drop table if exists t");
  EXPECT_THAT(engine->tables(), ElementsAre());
}

TEST_F(DuckTest, AnInsertLeavesOtherNamesOfTheTableAlone) {
  engine->select("select 1 as a", "t");
  engine->repartition("t", 2, "u");
  engine->execute("insert into t select 2");
  EXPECT_EQ(all("t") + " " + all("u"), "a|1|2 a|1");
}

TEST_F(DuckTest, AnOrderThatFailsNamesTheTableAndThePlace) {
  engine->select("select 1 as a, 2 as b", "mine");
  for (std::string sql :
       {"insert into mine values (1)", "insert into mine (a, zz) values (1, 2)"}) {
    try {
      engine->execute(sql);
      FAIL() << sql;
    } catch (const script::SqlError& error) {
      EXPECT_THAT(error.message(), HasSubstr("mine"));
      EXPECT_EQ(error.offset(), sql.find("mine ") + 5) << error.message();
    }
  }
  const std::string sql = "create table x (a foo)";
  try {
    engine->execute(sql);
    FAIL();
  } catch (const script::SqlError& error) {
    EXPECT_EQ(error.offset(), sql.find('(')) << error.message();
  }
}

TEST_F(DuckTest, AnInterruptEndsTheRunningCall) {
  std::thread later;
  std::string error = thrown([&] {
    later = std::thread([&] { engine->interrupt(); });
    for (int i = 0; i < 1000; ++i) answer("select count(*) from range(100000000) a, range(100) b");
  });
  later.join();
  EXPECT_EQ(error, "Cancelled: the query was interrupted");
  engine->resume();
  EXPECT_EQ(answer("select 1 as a"), "a|1");
}

TEST_F(DuckTest, AnInterruptThatComesBeforeACallEndsItAllTheSame) {
  engine->interrupt();
  EXPECT_EQ(thrown([&] { answer("select 1 as a"); }), "Cancelled: the query was interrupted");
  EXPECT_EQ(thrown([&] { engine->select("select 1 as a", "t"); }),
            "Cancelled: the query was interrupted");
  engine->resume();
  EXPECT_EQ(answer("select 1 as a"), "a|1");
}

// The connection's next use would run what was begun to its end, for hours here.
TEST_F(DuckTest, NothingRunsOnOfAQueryThatIsInterruptedWhileItBegins) {
  Core core(options);
  core.interrupts.interrupt();
  EXPECT_EQ(thrown([&] {
              core.link.run("SELECT count(*) FROM range(1000000000000) a, range(1000000000) b");
            }),
            "Cancelled: the query was interrupted");
  core.interrupts.resume();
  EXPECT_EQ(thrown([&] { core.link.run("SELECT 1"); }), "");
}

TEST_F(DuckTest, AFolderThatAKilledProcessLeftIsRemoved) {
  file("sql-abcdef/spill/x", "x");
  auto another = duck_engine(options);
  EXPECT_FALSE(std::filesystem::exists(folder + "/sql-abcdef"));
  EXPECT_EQ(answer("select 1 as a"), "a|1");  // the first one's folder is locked, and stays
}

TEST_F(DuckTest, NothingIsLeftOfAnEngine) {
  engine->select("select * from range(100000) as r(i)", "t");
  engine.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace capstan::duck
