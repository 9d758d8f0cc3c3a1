#pragma once

// Columns of a script's tables, found by name and written into SQL.

#include <string>
#include <string_view>
#include <vector>

#include "jobs/script/engine.h"

namespace capstan::script {

// Any name as an identifier of SQL as scripts write it.
std::string quoted_name(std::string_view name);

// Without regard to case; null where there is none.
const Column* find_column(const std::vector<Column>& columns, std::string_view name);
// Throws NotFound with the nearest column.
const Column& get_column(const std::vector<Column>& columns, std::string_view name);
// "; it has a, b and 30 more", for messages about a table.
std::string has_columns(const std::vector<Column>& columns);

bool is_list(const Column& column);
// How long the lists of a column are: of the first row that has one; 1 without such a row.
int64_t list_width(Engine& engine, const std::string& table, const std::string& column);

}  // namespace capstan::script
