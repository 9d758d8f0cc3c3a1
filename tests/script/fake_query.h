#pragma once

// A query of the small engine, as its parser leaves it.

#include <compare>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/script/table.h"

namespace capstan::script {

// Some rows of one table: a single one, or a group.
struct Scope {
  const Rows* table;
  std::vector<size_t> rows;
};

using Value = std::function<Cell(const Scope& scope)>;

struct Item {
  Value value;
  std::string name;
  bool all = false;
};

struct Query {
  std::vector<Item> items;
  std::string table;
  size_t table_at = 0;
  std::vector<Value> groups, order;
  std::vector<bool> descending;
  Value where;
  bool aggregate = false;
  size_t limit = SIZE_MAX;
  std::unique_ptr<Query> unioned;
};

Query parse_query(std::string_view sql);

// The order of two values; unordered where one is null, or text beside a number.
std::partial_ordering compared(const Cell& a, const Cell& b);
bool is_true(const Cell& cell);
// Whole numbers stay whole but for "/"; null where one is no number.
Cell calculated(char sign, const Cell& a, const Cell& b);
// "=", "<" and so on.
Cell compare(const std::string& sign, const Cell& a, const Cell& b);

}  // namespace capstan::script
