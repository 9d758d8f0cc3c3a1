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

// Null, or a value; what is neither a number nor a truth value is text, nested values as JSON.
using Cell = std::variant<std::monostate, bool, int64_t, double, std::string>;

// As people see it; null is empty.
std::string cell_text(const Cell& cell);

struct Rows {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  int64_t total = 0;  // how many there are; `rows` may hold only the first of them
};

}  // namespace capstan::script
