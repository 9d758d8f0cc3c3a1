#include "jobs/duck/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace capstan::duck {
namespace {

using script::Cell;
using script::Column;
using script::Rows;

template <class T, class As>
void numbers(const void* data, uint64_t row, Cell& cell) {
  cell = static_cast<As>(static_cast<const T*>(data)[row]);
}

void read_text(const void* data, uint64_t row, Cell& cell) {
  cell = std::string(string_view_of(static_cast<const StringValue*>(data)[row]));
}

using ReadCell = void (*)(const void* data, uint64_t row, Cell& cell);

ReadCell reader_of(TypeId type) {
  switch (type) {
    case TypeId::kBoolean: return numbers<bool, bool>;
    case TypeId::kTinyInt: return numbers<int8_t, int64_t>;
    case TypeId::kSmallInt: return numbers<int16_t, int64_t>;
    case TypeId::kInteger: return numbers<int32_t, int64_t>;
    case TypeId::kBigInt: return numbers<int64_t, int64_t>;
    case TypeId::kUTinyInt: return numbers<uint8_t, int64_t>;
    case TypeId::kUSmallInt: return numbers<uint16_t, int64_t>;
    case TypeId::kUInteger: return numbers<uint32_t, int64_t>;
    case TypeId::kFloat: return numbers<float, double>;
    case TypeId::kDouble: return numbers<double, double>;
    case TypeId::kVarchar: return read_text;
    default: throw internal_error("a cell of DuckDB's type {}", int(type));
  }
}

bool is_valid(const uint64_t* validity, uint64_t row) {
  return !validity || (validity[row / 64] >> (row % 64) & 1);
}

// Types whose cells are as they come; all others become text.
constexpr std::string_view kPlain[] = {"BOOLEAN", "TINYINT",  "SMALLINT",  "INTEGER",
                                       "BIGINT",  "UTINYINT", "USMALLINT", "UINTEGER",
                                       "FLOAT",   "DOUBLE",   "VARCHAR"};

// What an appender is given for a column whose cells are these.
std::string raw_type(const Rows& rows, size_t column) {
  bool has_text = false, has_double = false, has_bool = false, has_int = false;
  for (const auto& row : rows.rows) {
    has_text |= std::holds_alternative<std::string>(row[column]);
    has_double |= std::holds_alternative<double>(row[column]);
    has_bool |= std::holds_alternative<bool>(row[column]);
    has_int |= std::holds_alternative<int64_t>(row[column]);
  }
  if (has_text || (has_bool && (has_int || has_double))) return "VARCHAR";
  if (has_double) return "DOUBLE";
  return has_int ? "BIGINT" : has_bool ? "BOOLEAN" : "VARCHAR";
}

bool is_nested(std::string_view type) {
  return type.ends_with("]") || type.starts_with("STRUCT") || type.starts_with("MAP") ||
         type.starts_with("UNION");
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

}  // namespace

std::vector<std::vector<Cell>> read_cells(const Api& api, Result& result) {
  std::vector<ReadCell> readers;
  for (uint64_t i = 0; i < result.columns(); ++i) {
    readers.push_back(reader_of(api.column_type(result.raw(), i)));
  }
  std::vector<std::vector<Cell>> out;
  while (Chunk chunk = result.next()) {
    size_t begin = out.size(), rows = api.data_chunk_get_size(chunk);
    out.resize(begin + rows, std::vector<Cell>(readers.size()));
    for (size_t column = 0; column < readers.size(); ++column) {
      Vector vector = api.data_chunk_get_vector(chunk, column);
      const uint64_t* validity = api.vector_get_validity(vector);
      const void* data = api.vector_get_data(vector);
      for (size_t row = 0; row < rows; ++row) {
        if (is_valid(validity, row)) readers[column](data, row, out[begin + row][column]);
      }
    }
  }
  return out;
}

std::string cell_expression(const Column& column) {
  std::string name = sql_name(column.name);
  if (std::find(std::begin(kPlain), std::end(kPlain), column.type) != std::end(kPlain)) return name;
  if (column.type.starts_with("DECIMAL") && !column.type.ends_with("]")) {
    return fmt::format("CAST({} AS DOUBLE)", name);
  }
  if (is_nested(column.type)) return fmt::format("CAST(to_json({}) AS VARCHAR)", name);
  return fmt::format("CAST({} AS VARCHAR)", name);
}

void write_cells(Link& link, const Rows& rows, const std::string& stored) {
  check_shape(rows);
  std::string raw = stored.substr(stored.find('.') + 1) + "_raw", columns, casts;
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    const std::string& type = checked_type(rows.columns[i].type);
    std::string separator = i ? ", " : "", from = raw_type(rows, i);
    columns += fmt::format("{}c{} {}", separator, i, from);
    const char* json = is_nested(type) && from == "VARCHAR" ? "::JSON" : "";
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
