#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include "base/error.h"
#include "jobs/duck/cells.h"
#include "jobs/duck/core.h"
#include "jobs/duck/duck.h"
#include "jobs/duck/functions.h"
#include "jobs/duck/load.h"
#include "jobs/duck/read_options.h"
#include "jobs/duck/read_table.h"
#include "jobs/duck/spark_functions.h"
#include "jobs/duck/tables.h"
#include "jobs/duck/vet.h"
#include "jobs/duck/write_files.h"
#include "jobs/script/sql_error.h"

namespace capstan::duck {
namespace {

namespace fs = std::filesystem;
using script::Column;
using script::Function;
using script::LoadFrom;
using script::Rows;
using script::SaveTo;
using script::Shard;
using script::SqlError;
using Stored = std::shared_ptr<const std::string>;

class DuckEngine : public script::Engine {
 public:
  explicit DuckEngine(const EngineOptions& options)
      : core_(options), tables_(core_.link), pull_(core_.link), macros_(core_.link) {}

  void load(const LoadFrom& from, const std::string& table) override {
    begin();
    Stored stored = tables_.fresh();
    load_files(core_, pull_, from, *stored);
    tables_.publish(table, stored);
  }

  void define(const std::string& table, const Rows& rows) override {
    begin();
    Stored stored = tables_.fresh();
    write_cells(core_.link, rows, *stored);
    tables_.publish(table, stored);
  }

  void select(std::string_view sql, const std::string& table) override {
    begin();
    tables_.publish(table, result_of(SparkSql(sql), 0));
  }

  void execute(std::string_view text) override {
    begin();
    SparkSql sql(text);
    Order order = read_order(sql);
    switch (order.kind) {
      case Order::Kind::kInsert: return insert(sql, order);
      case Order::Kind::kCreate: return create(sql, order);
      case Order::Kind::kDeclare: return declare(sql, order);
      case Order::Kind::kDrop:
        if (!order.lenient || tables_.has(order.table)) tables_.drop(order.table);
        return;
      case Order::Kind::kRefresh: tables_.find(order.table); return;
    }
  }

  void save(const std::string& table, const SaveTo& to) override {
    begin();
    save_table(core_, tables_, *tables_.find(table).stored, to);
  }

  void drop(const std::string& table) override { tables_.drop(table); }

  std::vector<std::string> tables() const override { return tables_.names(); }

  std::vector<Column> columns(const std::string& table) const override {
    return tables_.columns(*tables_.find(table).stored);
  }

  Rows rows(const std::string& table, int64_t limit) const override {
    core_.interrupts.check();
    return rows_of(*tables_.find(table).stored, limit);
  }

  std::unique_ptr<script::RowReader> read(const std::string& table) const override {
    core_.interrupts.check();
    return read_table(core_, tables_, tables_.find(table).stored);
  }

  Rows query(std::string_view sql, int64_t limit) override {
    begin();
    return rows_of(*result_of(SparkSql(sql), 0), limit);
  }

  int partitions(const std::string& table) const override { return tables_.find(table).partitions; }

  void repartition(const std::string& table, int count, const std::string& result) override {
    if (count < 1) throw invalid_argument("{} partitions: at least one is needed", count);
    Stored stored = tables_.find(table).stored;
    tables_.publish(result, stored, count);
  }

  std::vector<Shard> write_shards(const std::string& table, const std::string& format,
                                  const std::string& folder) override {
    begin();
    if (format != "json" && format != "parquet") {
      throw invalid_argument("shards are json or parquet, not {}", format);
    }
    const Tables::Entry& entry = tables_.find(table);
    std::vector<std::string> paths;
    for (int i = 0; i < entry.partitions; ++i) {
      paths.push_back(fmt::format("{}/{}/data.{}", folder, i, format));
      fs::create_directories(fs::path(paths.back()).parent_path());
    }
    std::vector<int64_t> counts =
        write_slices(core_, tables_, *entry.stored, write_options(format, {}), paths);
    std::vector<Shard> shards;
    for (size_t i = 0; i < paths.size(); ++i) shards.push_back({paths[i], counts[i]});
    return shards;
  }

  void add_function(Function function) override {
    begin();
    std::string name = function.name;
    macros_.forget(lower(name));
    add_sql_function(core_.link, std::move(function));
    if (std::find(functions_.begin(), functions_.end(), name) == functions_.end()) {
      functions_.push_back(name);
    }
  }

  std::vector<std::string> functions() const override { return functions_; }

  void interrupt() override { core_.interrupts.interrupt(); }
  void resume() override { core_.interrupts.resume(); }

 private:
  void begin() { core_.interrupts.check(); }

  // Runs what a script wrote, with `before` in front; places of errors become those of its text.
  template <class Run>
  void at_script_places(const SparkSql& sql, size_t from, size_t before, const Run& run) {
    try {
      run();
    } catch (const SqlError& error) {
      size_t at = std::max(error.offset(), before) - before + sql.begin_of(from);
      throw SqlError(error.code(), error.message(), sql.given_offset(at));
    }
  }

  // Runs what we made of an order: errors name the script's table, at what follows it.
  void run_at(const SparkSql& sql, const Order& order, const std::string& stored,
              const std::string& made) {
    try {
      core_.link.run(made);
    } catch (const Error& error) {
      if (error.code() == Code::kCancelled) throw;
      std::string message = error.message();
      const std::string inner = stored.substr(stored.find('.') + 1);  // "t3"
      const size_t at = message.find(inner);
      if (at != message.npos) message.replace(at, inner.size(), order.table);
      throw SqlError(error.code(), message, sql.tokens()[order.after].offset);
    }
  }

  // A stored table of the query that begins at a token.
  Stored result_of(const SparkSql& sql, size_t from) {
    if (from >= sql.tokens().size())
      throw SqlError(Code::kInvalidArgument, "a query is expected", 0);
    std::string query = sql.text_from(from);
    macros_.add_those_in(sql);
    at_script_places(sql, from, 0, [&] { vet_query(core_.link, tables_, query); });
    Stored stored = tables_.fresh();
    std::string head = "CREATE TABLE " + *stored + " AS ";
    at_script_places(sql, from, head.size(), [&] { core_.link.run(head + query); });
    narrow(*stored);
    return stored;
  }

  // Sums of whole numbers are 128 bits wide in DuckDB, which few readers of files know.
  void narrow(const std::string& stored) {
    for (const Column& column : tables_.columns(stored)) {
      if (column.type != "HUGEINT") continue;
      try {
        core_.link.run(fmt::format("ALTER TABLE {} ALTER COLUMN {} TYPE BIGINT", stored,
                                   sql_name(column.name)));
      } catch (const Error& error) {
        if (error.code() == Code::kCancelled) throw;  // else it is too large, and stays
      }
    }
  }

  void insert(const SparkSql& sql, const Order& order) {
    Tables::Entry entry = tables_.find(order.table);
    Stored added = result_of(sql, order.query), stored = tables_.fresh();
    // Others may have this table under their names: they keep what they have.
    core_.link.run(fmt::format("CREATE TABLE {} AS SELECT * FROM {}{}", *stored, *entry.stored,
                               order.replace ? " LIMIT 0" : ""));
    run_at(sql, order, *stored,
           fmt::format("INSERT INTO {} {} SELECT * FROM {}", *stored, order.columns, *added));
    tables_.publish(entry.name, stored, entry.partitions);
  }

  bool may_create(const Order& order) {
    if (order.replace || !tables_.has(order.table)) return true;
    if (order.lenient) return false;
    throw already_exists("there is a table {} already; create or replace", order.table);
  }

  void create(const SparkSql& sql, const Order& order) {
    if (may_create(order)) tables_.publish(order.table, result_of(sql, order.query));
  }

  void declare(const SparkSql& sql, const Order& order) {
    if (!may_create(order)) return;
    Stored stored = tables_.fresh();
    run_at(sql, order, *stored, fmt::format("CREATE TABLE {} {}", *stored, order.columns));
    tables_.publish(order.table, stored);
  }

  Rows rows_of(const std::string& stored, int64_t limit) const {
    Rows out;
    out.columns = tables_.columns(stored);
    out.total = tables_.count(stored);
    const std::vector<CellType> types = cell_types(core_.link, stored);
    std::string end = limit < 0 ? "" : fmt::format(" LIMIT {}", limit);
    Result result = core_.link.run(
        fmt::format("SELECT {} FROM {}{}", cell_list(out.columns, types), stored, end));
    out.rows = read_cells(core_.api, result, types);
    return out;
  }

  mutable Core core_;
  mutable Tables tables_;
  Pull pull_;
  SparkMacros macros_;
  std::vector<std::string> functions_;
};

}  // namespace

std::unique_ptr<script::Engine> duck_engine(const EngineOptions& options) {
  return std::make_unique<DuckEngine>(options);
}

}  // namespace capstan::duck
