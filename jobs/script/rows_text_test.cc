#include "jobs/script/rows_text.h"

#include <gtest/gtest.h>

namespace capstan::script {
namespace {

Rows sample() {
  Rows rows;
  rows.columns = {{"name", "VARCHAR"}, {"n", "BIGINT"}, {"v", "FLOAT[]"}, {"ok", "BOOLEAN"}};
  rows.rows = {{std::string("a,\"b\"\n"), int64_t{7}, std::string("[1,2]"), true},
               {Cell(), int64_t{1234}, Cell(), Cell()}};
  return rows;
}

TEST(RowsText, IsATableWithNumbersToTheRightAndNoLineBreaksInCells) {
  EXPECT_EQ(rows_as_table(sample()),
            "name        n  v      ok\n"
            "a,\"b\"\\n     7  [1,2]  true\n"
            "         1234\n");
}

TEST(RowsText, HoldsNothingThatATerminalObeys) {
  Rows rows;
  rows.columns = {{"\x1b[2J", "VARCHAR"}};
  rows.rows = {{std::string("\x1b]0;title\x07")}};
  EXPECT_EQ(rows_as_table(rows).find('\x1b'), std::string::npos);
}

TEST(RowsText, IsOneJsonObjectInALine) {
  EXPECT_EQ(rows_as_json(sample()),
            "{\"name\":\"a,\\\"b\\\"\\n\",\"n\":7,\"v\":[1,2],\"ok\":true}\n"
            "{\"name\":null,\"n\":1234,\"v\":null,\"ok\":null}\n");
}

TEST(RowsText, NumbersAreAsTheyAreWritten) {
  Rows rows;
  rows.columns = {{"d", "DECIMAL(4,2)"}, {"u", "UNION(a BIGINT)"}};
  rows.rows = {{Number{"1.10"}, std::string("{\"a\":1}")}};
  EXPECT_EQ(rows_as_table(rows), "   d  u\n1.10  {\"a\":1}\n");
  EXPECT_EQ(rows_as_json(rows), "{\"d\":1.10,\"u\":{\"a\":1}}\n");
  EXPECT_EQ(rows_as_csv(rows), "d,u\n1.10,\"{\"\"a\"\":1}\"\n");
}

TEST(RowsText, CsvTellsAnEmptyTextFromANull) {
  Rows rows;
  rows.columns = {{"a", "VARCHAR"}, {"b", "VARCHAR"}};
  rows.rows = {{std::string(), Cell()}};
  EXPECT_EQ(rows_as_csv(rows), "a,b\n\"\",\n");
}

TEST(RowsText, CsvHasItsHeaderBeforeTheFirstRowOnly) {
  Rows rows;
  rows.columns = {{"a", "BIGINT"}};
  rows.rows = {{int64_t{2}}};
  rows.first = 1;
  EXPECT_EQ(rows_as_csv(rows), "2\n");
}

TEST(RowsText, IsCsvWithQuotesWhereTheyAreNeeded) {
  EXPECT_EQ(rows_as_csv(sample()),
            "name,n,v,ok\n"
            "\"a,\"\"b\"\"\n\",7,\"[1,2]\",true\n"
            ",1234,,\n");
}

}  // namespace
}  // namespace capstan::script
