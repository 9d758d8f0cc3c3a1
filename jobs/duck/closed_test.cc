#include "jobs/duck/core.h"
#include "jobs/duck/test_engine.h"

namespace capstan::duck {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ClosedTest : public DuckTest {
 protected:
  void SetUp() override {
    DuckTest::SetUp();
    if (IsSkipped()) return;
    engine->select("select 1 as a", "t");
    secret = file("secret.csv", "top secret\n");
  }
  void expect_refused(const std::string& sql) {
    auto refused = AnyOf(StartsWith("PermissionDenied: "), StartsWith("InvalidArgument: "),
                         StartsWith("NotFound: "));
    std::string by_select = thrown([&] { engine->select(sql, "out"); });
    std::string by_query = thrown([&] { engine->query(sql, 10); });
    EXPECT_THAT(by_select, refused) << sql;
    EXPECT_THAT(by_query, refused) << sql;
    EXPECT_EQ(by_select.find("top secret"), std::string::npos) << sql;
  }
  std::string secret;
};

TEST_F(ClosedTest, AQueryReadsNoFile) {
  for (const char* function :
       {"read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_ndjson",
        "read_json_objects", "read_parquet", "parquet_scan", "read_text", "read_blob", "glob",
        "sniff_csv", "read_duckdb", "parquet_metadata", "parquet_schema", "parquet_file_metadata",
        "parquet_kv_metadata", "system.main.read_csv", "main.read_text"}) {
    expect_refused(fmt::format("select * from {}('{}')", function, secret));
    expect_refused(
        fmt::format("select * from t, lateral (select * from {}('{}')) x", function, secret));
  }
  expect_refused("select * from '" + secret + "'");
  expect_refused("select * from `" + secret + "`");
  expect_refused("select (select count(*) from read_text('" + secret + "')) as n from t");
  expect_refused("with x as (select * from read_csv('" + secret + "')) select * from x");
  expect_refused("select * from t where a in (select 1 from glob('/etc/*'))");
  // A name of `with` is none outside of it.
  expect_refused("select * from `" + secret + "`, (with `" + secret +
                 "` as (select 1) select 1) x");
  expect_refused("with x as (select * from `" + secret + "`), `" + secret +
                 "` as (select 1) select * from x");
  expect_refused("select * from (pivot t on a using sum(a))");
  expect_refused("with x as (copy t to '/tmp/x') select 1");
  expect_refused("with x as (insert into t values (2) returning a) select * from x");
  expect_refused("select array(select file from glob('/*'))");
  expect_refused("select * from read_csv('http://127.0.0.1:1/x.csv')");
  expect_refused("select * from read_parquet('s3://bucket/x')");
}

TEST_F(ClosedTest, AQueryRunsNoOtherStatement) {
  for (const char* sql : {"install httpfs",
                          "load httpfs",
                          "attach ':memory:' as x",
                          "attach '/tmp/x.db' as x",
                          "detach memory",
                          "copy t to '/tmp/x.csv'",
                          "copy t from '/tmp/x.csv'",
                          "export database '/tmp/x'",
                          "import database '/tmp/x'",
                          "pragma database_list",
                          "pragma enable_profiling",
                          "set threads = 1",
                          "set temp_directory = '/'",
                          "reset threads",
                          "call pragma_version()",
                          "call enable_logging()",
                          "create secret (type s3)",
                          "create macro f() as 1",
                          "create table x as select 1",
                          "checkpoint",
                          "vacuum",
                          "begin",
                          "prepare p as select 1",
                          "execute p",
                          "explain analyze select 1",
                          "use memory",
                          "delete from t",
                          "update t set a = 2",
                          "insert into t values (2)",
                          "drop table t",
                          "describe t",
                          "show tables",
                          "summarize t",
                          "select 1; select 2",
                          "select 1; drop table t",
                          "",
                          "   ",
                          ";",
                          "-- only a comment"}) {
    expect_refused(sql);
  }
  EXPECT_EQ(all("t"), "a|1");
}

TEST_F(ClosedTest, AQueryLearnsNothingOfTheMachine) {
  for (const char* sql :
       {"select getenv('HOME')",
        "select current_setting('temp_directory')",
        "select * from duckdb_settings()",
        "select * from pg_settings",
        "select * from pg_catalog.pg_settings",
        "select * from information_schema.tables",
        "select * from duckdb_secrets()",
        "select * from duckdb_databases()",
        "select * from duckdb_extensions()",
        "select * from duckdb_logs",
        "select * from sqlite_master",
        "select * from duckdb_temporary_files()",
        "select * from pragma_database_list",
        "select * from query('select 1')",
        "select * from query_table('t')",
        "select * from capstan_pull()",
        "select * from json_execute_serialized_sql('{}')",
        "select * from arrow_scan(0, 0, 0)",
        "select * from enable_logging()",
        "select * from capstan.t1",
        "select * from memory.main.t",
        "with pg_settings as (select 1) select * from (select * from pg_settings) x",
        "select 'temp_directory'.current_setting()",
        "select json_serialize_plan('select current_setting(''temp_directory'')', optimize := "
        "true)",
        "select system.main.current_setting('temp_directory')",
        "select list_transform(['threads'], lambda x: current_setting(x))",
        "select current_query()",
        "select columns(lambda c: c = current_setting('threads')) from t",
        "select a from t order by (select 1 from duckdb_settings())",
        "select a from t limit (select count(*) from duckdb_settings())",
        "select a from t qualify row_number() over (order by (select 1 from pg_settings)) = 1",
        "select * from t positional join duckdb_settings()",
        "select sum(a order by (select 1 from duckdb_settings())) from t",
        "select * replace ((select 1 from duckdb_settings()) as a) from t",
        "values ((select count(*) from duckdb_settings()))",
        "select * from unnest((select list(name) from duckdb_settings()))",
        "select __internal_decompress_string('x'::blob)",
        "from which_secret('s3://x', 's3')",
        "select * from (show tables)",
        "select * from t at (version => 1)"}) {
    expect_refused(sql);
  }
}

// A model may give any text.
TEST_F(ClosedTest, AFunctionOfTheScriptIsNotAskedInsteadOfTheCheck) {
  auto nothing_to_see = [](const std::vector<Tensor>& arguments) {
    Tensor out(DType::kString, Shape{arguments[0].size()});
    std::fill_n(out.data<std::string>(), out.size(), R"({"error":false,"statements":[{}]})");
    return std::vector<Tensor>{out};
  };
  engine->add_function({"json_serialize_sql",
                        {{"sql", DType::kString, 0}},
                        {{"tree", DType::kString, 0}},
                        nothing_to_see});
  expect_refused("select getenv('HOME') as home");
}

TEST_F(ClosedTest, AnOrderTouchesOnlyTablesOfTheScript) {
  for (std::string sql : {"create table x as select * from read_csv('/etc/passwd')",
                          "insert into t select * from glob('/*')",
                          "insert into capstan.t1 values (2)",
                          "drop table capstan.t1",
                          "drop schema capstan cascade",
                          "drop view main.t",
                          "create schema x",
                          "create macro f() as 1",
                          "create function f() as 1",
                          "create secret (type s3)",
                          "create type x as enum ('a')",
                          "create sequence s",
                          "create table x (a int default current_setting('threads'))",
                          "create table x (a int as (1))",
                          "create table x (a int check (a > 0))",
                          "create table x as from '/etc/passwd'",
                          "create view x as pragma version",
                          "create table x (a int) as select 1",
                          "insert into t values (getenv('HOME'))",
                          "insert into t select 1 returning current_setting('threads')",
                          "drop table t; drop table t",
                          "create persistent secret (type s3)",
                          "attach ':memory:'",
                          "copy t to 'x'",
                          "set threads = 1",
                          "refresh table capstan.t1",
                          "insert into duckdb_tables select 1",
                          "select 1",
                          "create index i on t (a)",
                          "insert or replace into t select 1"}) {
    EXPECT_THAT(thrown([&] { engine->execute(sql); }),
                AnyOf(StartsWith("PermissionDenied: "), StartsWith("InvalidArgument: "),
                      StartsWith("NotFound: ")))
        << sql;
  }
  EXPECT_EQ(all("t"), "a|1");
  EXPECT_THAT(engine->tables(), ::testing::ElementsAre("t"));
}

// What would hold if a query passed the check: DuckDB's own locks.
TEST_F(ClosedTest, TheStoreItselfIsLocked) {
  Core core(options);
  for (std::string sql :
       {"SELECT * FROM read_text('" + secret + "')", "SELECT * FROM '" + secret + "'",
        "SELECT * FROM read_text('" + core.workspace.folder() + "/../secret.csv')",
        "COPY (SELECT 1) TO '" + folder + "/x.csv'", std::string("INSTALL httpfs"),
        std::string("LOAD httpfs"), "ATTACH '" + folder + "/x.db' AS x",
        std::string("SET threads = 1"), std::string("RESET threads"),
        std::string("SET allowed_directories = ['/']"),
        std::string("SET enable_external_access = true"),
        std::string("SET lock_configuration = false"), std::string("EXPORT DATABASE '/tmp/x'"),
        std::string("SELECT * FROM glob('/etc/*')"),
        std::string("CREATE PERSISTENT SECRET s (TYPE s3)"),
        std::string("SELECT * FROM read_csv('http://127.0.0.1:1/x')")}) {
    EXPECT_NE(thrown([&] { core.link.run(sql); }), "") << sql;
  }
  std::filesystem::create_symlink(secret, core.workspace.folder() + "/link.csv");
  EXPECT_THAT(
      thrown([&] {
        core.link.run("SELECT * FROM read_text('" + core.workspace.folder() + "/link.csv')");
      }),
      StartsWith("PermissionDenied: "));
}

TEST_F(ClosedTest, TheReaderOfAFileReadsThatFileOnly) {
  Core core(options);
  Store reader(core.api, closed_settings(core.options));
  Link link(core.api, reader.raw(), core.interrupts);
  std::string allowed = file("allowed.csv", "1\n");
  close_off(link, {allowed}, "");
  EXPECT_EQ(thrown([&] { link.run("SELECT * FROM read_text('" + allowed + "')"); }), "");
  EXPECT_NE(thrown([&] { link.run("SELECT * FROM read_text('" + secret + "')"); }), "");
  EXPECT_NE(thrown([&] { link.run("COPY (SELECT 1) TO '" + folder + "/x.csv'"); }), "");
}

TEST_F(ClosedTest, BytesThatAreNoTextAreRefused) {
  for (std::string sql :
       {std::string("select 1 as a\0", 14), std::string("select '\xff'"), std::string("select 'a"),
        std::string("select `a"), std::string("select /* a"), std::string("select $$a$$"),
        std::string("select $1"), std::string("select E'\\x41'"), std::string("select ?")}) {
    EXPECT_THAT(thrown([&] { engine->query(sql, 1); }), StartsWith("InvalidArgument: ")) << sql;
  }
}

TEST_F(ClosedTest, ANumberThatNoTypeHoldsIsRefusedWithWords) {
  EXPECT_EQ(thrown([&] { engine->query("select 1e400 as x", 1); }),
            "InvalidArgument: a number in this SQL is too large");
}

TEST_F(ClosedTest, DeepQueriesAreRefusedNotFatal) {
  std::string deep = "select " + std::string(100000, '(') + "1" + std::string(100000, ')');
  EXPECT_THAT(thrown([&] { engine->query(deep, 1); }), StartsWith("InvalidArgument: "));
  std::string sums = "select 1";
  for (int i = 0; i < 20000; ++i) sums += " + 1";
  EXPECT_THAT(thrown([&] { engine->query(sums, 1); }), AnyOf("", StartsWith("InvalidArgument: ")));
  std::string nested = "select * from t";
  for (int i = 0; i < 300; ++i) nested = "select * from (" + nested + ")";
  EXPECT_THAT(thrown([&] { engine->query(nested, 1); }),
              AnyOf("", StartsWith("InvalidArgument: ")));
}

}  // namespace
}  // namespace capstan::duck
