#include "jobs/duck/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace capstan::duck {
namespace {

using script::Cell;
using script::Column;
using script::Number;
using script::Rows;

// What an appender is given for a column whose cells are these.
std::string raw_type(const Rows& rows, size_t column) {
  bool has_text = false, has_double = false, has_bool = false, has_int = false;
  for (const auto& row : rows.rows) {
    has_text |= std::holds_alternative<std::string>(row[column]);
    has_text |= std::holds_alternative<Number>(row[column]);
    has_double |= std::holds_alternative<double>(row[column]);
    has_bool |= std::holds_alternative<bool>(row[column]);
    has_int |= std::holds_alternative<int64_t>(row[column]);
  }
  if (has_text || (has_bool && (has_int || has_double))) return "VARCHAR";
  if (has_double) return "DOUBLE";
  return has_int ? "BIGINT" : has_bool ? "BOOLEAN" : "VARCHAR";
}

void check_shape(const Rows& rows) {
  if (rows.columns.empty()) throw invalid_argument("a table needs a column");
  for (const auto& row : rows.rows) {
    if (row.size() != rows.columns.size()) {
      throw invalid_argument("a row of {} cells in a table of {} columns", row.size(),
                             rows.columns.size());
    }
  }
}

// Types are put into SQL as they are; nothing but a type may be in them.
const std::string& checked_type(const std::string& type) {
  bool good = !type.empty() && std::all_of(type.begin(), type.end(), [](char c) {
    return isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(" _,()[]\"").find(c) != std::string_view::npos;
  });
  if (!good) throw invalid_argument("'{}' is no type of a column", type);
  return type;
}

struct AppendCell {
  const Api& api;
  Appender appender;
  State operator()(std::monostate) const { return api.append_null(appender); }
  State operator()(bool value) const { return api.append_bool(appender, value); }
  State operator()(int64_t value) const { return api.append_int64(appender, value); }
  State operator()(double value) const { return api.append_double(appender, value); }
  State operator()(const Number& value) const { return (*this)(value.digits); }
  State operator()(const std::string& value) const {
    return api.append_varchar_length(appender, value.data(), value.size());
  }
};

void append_rows(Link& link, const Rows& rows, const std::string& table) {
  const Api& api = link.api();
  Appender appender = nullptr;
  State state = api.appender_create(link.raw(), "capstan", table.c_str(), &appender);
  for (size_t i = 0; state == State::kOk && i < rows.rows.size(); ++i) {
    for (const Cell& cell : rows.rows[i]) {
      if (state == State::kOk) state = std::visit(AppendCell{api, appender}, cell);
    }
    if (state == State::kOk) state = api.appender_end_row(appender);
  }
  if (state == State::kOk) state = api.appender_close(appender);
  std::string error = state == State::kOk ? "" : api.appender_error(appender);
  api.appender_destroy(&appender);
  if (state != State::kOk) throw invalid_argument("rows do not fit their table: {}", error);
}

std::vector<CellType> types_of(const Api& api, Result& result) {
  std::vector<CellType> types;
  for (uint64_t i = 0; i < result.columns(); ++i) {
    Type type = api.column_logical_type(result.raw(), i);
    types.push_back(CellType::of(api, type));
    api.destroy_logical_type(&type);
  }
  return types;
}

}  // namespace

std::vector<CellType> cell_types(Link& link, const std::string& stored) {
  Result result = link.run("SELECT * FROM " + stored + " LIMIT 0");
  return types_of(link.api(), result);
}

std::string cell_list(const std::vector<Column>& columns, const std::vector<CellType>& types) {
  std::vector<std::string> cells;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string name = sql_name(columns[i].name);
    cells.push_back(types[i].is_cast ? fmt::format("CAST({} AS {})", name, types[i].sql) : name);
  }
  return sql_list(cells);
}

std::vector<std::vector<Cell>> read_cells(const Api& api, Result& result) {
  return read_cells(api, result, types_of(api, result));
}

std::vector<std::vector<Cell>> read_cells(const Api& api, Result& result,
                                          const std::vector<CellType>& types) {
  std::vector<std::vector<Cell>> out;
  while (Chunk chunk = result.next()) append_cells(api, types, chunk, out);
  return out;
}

void write_cells(Link& link, const Rows& rows, const std::string& stored) {
  check_shape(rows);
  std::string raw = stored.substr(stored.find('.') + 1) + "_raw", columns, casts;
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    const std::string& type = checked_type(rows.columns[i].type);
    std::string separator = i ? ", " : "", from = raw_type(rows, i);
    columns += fmt::format("{}c{} {}", separator, i, from);
    const char* json = holds_json(rows.columns[i]) && from == "VARCHAR" ? "::JSON" : "";
    casts += fmt::format("{}CAST(c{}{} AS {}) AS {}", separator, i, json, type,
                         sql_name(rows.columns[i].name));
  }
  link.run(fmt::format("CREATE TABLE capstan.{} ({})", raw, columns));
  try {
    append_rows(link, rows, raw);
    link.run(fmt::format("CREATE TABLE {} AS SELECT {} FROM capstan.{}", stored, casts, raw));
  } catch (...) {
    link.run("DROP TABLE capstan." + raw);
    throw;
  }
  link.run("DROP TABLE capstan." + raw);
}

}  // namespace capstan::duck
