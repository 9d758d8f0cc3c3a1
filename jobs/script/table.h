#pragma once

// Rows as people and scripts see them: what a statement returns, and what the script layer itself
// gives an engine as a table.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace capstan::script {

struct Column {
  std::string name;
  std::string type;  // as SQL calls it: BIGINT, DOUBLE, VARCHAR, BOOLEAN, FLOAT[], …
};

// Whether the cells of the column are JSON: lists, structs, maps.
inline bool holds_json(const Column& column) {
  return column.type.ends_with("]") || column.type.starts_with("STRUCT") ||
         column.type.starts_with("MAP") || column.type.starts_with("UNION") ||
         column.type == "JSON";
}

// A number that is neither of the two below, to its last digit: DECIMAL, HUGEINT, FLOAT.
struct Number {
  std::string digits;  // as JSON writes them
  bool operator==(const Number&) const = default;
};

// Null, or a value; what is neither a number nor a truth value is text, nested values as JSON.
using Cell = std::variant<std::monostate, bool, int64_t, double, Number, std::string>;

// As people see it; null is empty.
std::string cell_text(const Cell& cell);

struct Rows {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  int64_t total = 0;  // how many there are; `rows` may hold only some of them
  int64_t first = 0;  // how many stand before those
};

}  // namespace capstan::script
