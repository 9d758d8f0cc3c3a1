#include "jobs/duck/date_pattern.h"
#include "jobs/duck/spark_functions.h"
#include "jobs/duck/spark_sql.h"
#include "jobs/duck/test_engine.h"

namespace capstan::duck {
namespace {

using ::testing::HasSubstr;

TEST_F(DuckTest, EveryFunctionOfSparkGivesWhatItsRowSays) {
  for (const SparkFunction& function : spark_functions()) {
    std::string got;
    std::string error =
        thrown([&] { got = answer(fmt::format("select {} as x", function.sample)); });
    EXPECT_EQ(error + got, fmt::format("x|{}", function.gives)) << function.sample;
  }
}

TEST_F(DuckTest, SparksOtherSpellingsWork) {
  const std::pair<const char*, const char*> cases[] = {
      {"select cast('1' as int) + cast(2.0 as bigint) as x", "x|3"},
      {"select cast(1 as string) || cast('2' as double) as x", "x|12.0"},
      {"select if(1 > 2, 'a', 'b') as x", "x|b"},
      {"select ifnull(null, 1) as x", "x|1"},
      {"select isnull(null) as x", "x|true"},
      {"select instr('abc', 'b') as x", "x|2"},
      {"select array_contains(array(1, 2), 2) as x", "x|true"},
      {"select md5('a') as x", "x|0cc175b9c0f1b6a831c399e269772661"},
      {"select sha1('a') as x", "x|86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
      {"select pmod(hash('a'), 10) between 0 and 9 as x", "x|true"},
      {"select `a b` from (select 1 as `a b`)", "a b|1"},
      {"select \"it's\" as `x`", "x|it's"},
      {"select 'it\\'s \\\\d \\d' as x", "x|it's \\d \\d"},
      {"select 'it''s' as x", "x|it's"},
      {"select 1 -- ' a comment\n as x /* \" */", "x|1"},
      {"select 'abc' rlike '^a' as x, 'abc' not rlike 'c$' as y", "x,y|true,false"},
      {"select null <=> null as x", "x|true"},
      {"select 1 == 1 as x, 1 != 2 as y", "x,y|true,true"},
      {"select regexp_extract('a12b', '([a-z])(\\\\d+)', 2) as x", "x|12"},
      {"select explode(split('a,b', ',')) as x", "x|a|b"},
      {"select concat('a', 1, 'b') as x", "x|a1b"},
      {"select concat_ws('-', 'a', null, 'b') as x", "x|a-b"},
      {"select size(null) as x", "x|-1"},
      {"select k, concat_ws(',', collect_list(v)) as x from (values (1,'a'),(1,null),(1,'b')) as "
       "t(k,v) group by k",
       "k,x|1,a,b"},
      {"select k, e from (select 1 as k, array(5, 6) as v) t lateral view explode(v) x as e where "
       "e > 5",
       "k,e|1,6"},
      {"select current_date() = current_date as x", "x|true"},
      {"select struct(1, 'a') is not null as x", "x|true"},
  };
  for (const auto& [sql, expected] : cases) {
    std::string got, error = thrown([&] { got = answer(sql); });
    EXPECT_EQ(error + got, expected) << sql;
  }
}

TEST_F(DuckTest, AnElementOfSparksNumberZeroIsRefusedNotNull) {
  engine->select("select array('x', 'y') as v", "t");
  for (const char* sql : {"select v[0] from t", "select split('a,b', ',')[0] as x",
                          "select `v`[0] from t", "select [[1]][1][0] as x"}) {
    EXPECT_THAT(thrown([&] { answer(sql); }), HasSubstr("elements are counted from 1")) << sql;
  }
  EXPECT_EQ(answer("select v[1] as x, [0] as z, 0 in (0) as i from t"), "x,z,i|x,[0],true");
  EXPECT_EQ(answer("select element_at(map {0: 'm'}, 0) as x"), "x|m");
}

TEST_F(DuckTest, AWrongDatePatternIsNamed) {
  EXPECT_THAT(thrown([&] { answer("select date_format('2026-11-16', 'yyyy-QQ')"); }),
              HasSubstr("QQ"));
}

TEST(DatePattern, IsStrftimes) {
  EXPECT_EQ(date_pattern("yyyy-MM-dd'T'HH:mm:ss.SSS"), "%Y-%m-%dT%H:%M:%S.%g");
  EXPECT_EQ(date_pattern("d/M/yy 'o''clock' 100%"), "%-d/%-m/%y o'clock 100%%");
}

TEST(SparkSql, KeepsPlaces) {
  std::string given = "select /* é */ `a b`  ,\n\"x\\ny\" from t";
  SparkSql sql(given);
  EXPECT_EQ(sql.text(), "select \"a b\" , 'x\ny' from t");
  for (const char* word : {"select", "from", "t"}) {
    EXPECT_EQ(sql.given_offset(sql.text().rfind(word)), given.rfind(word)) << word;
  }
  EXPECT_EQ(sql.given_offset(sql.text().find("'x")), given.find("\"x"));
}

}  // namespace
}  // namespace capstan::duck
