#include "jobs/duck/test_engine.h"

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
  EXPECT_EQ(all("t"), "n,x,s,ok,v|1,0.5,it's,true,[1.5,2.0]|null,null,null,null,null");
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

TEST_F(DuckTest, AnInterruptEndsTheRunningCall) {
  std::thread later;
  std::string error = thrown([&] {
    later = std::thread([&] {
      // Until it has an effect: the call may not have begun.
      for (int i = 0; i < 200; ++i) {
        engine->interrupt();
        std::this_thread::yield();
      }
    });
    for (int i = 0; i < 1000; ++i) answer("select count(*) from range(100000000) a, range(100) b");
  });
  later.join();
  EXPECT_EQ(error, "Cancelled: the query was interrupted");
  EXPECT_EQ(answer("select 1 as a"), "a|1");
}

TEST_F(DuckTest, AFolderThatAKilledProcessLeftIsRemoved) {
  std::string left = folder + "/capstan-sql-abcdef", young = folder + "/capstan-sql-ghijkl";
  file("capstan-sql-abcdef/spill/x", "x");
  std::filesystem::create_directories(young);
  std::filesystem::last_write_time(
      left, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  auto another = duck_engine(options);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(young));
  EXPECT_EQ(answer("select 1 as a"), "a|1");  // the first one's folder is locked, and stays
}

TEST_F(DuckTest, NothingIsLeftOfAnEngine) {
  engine->select("select * from range(100000) as r(i)", "t");
  engine.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace capstan::duck
