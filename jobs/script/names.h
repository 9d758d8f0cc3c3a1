#pragma once

// Names of columns in SQL: compared without regard to case, quoted where they are written.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "jobs/script/table.h"

namespace capstan::script {

bool same_name(std::string_view a, std::string_view b);
// "a ""b""": any name as an identifier.
std::string quoted_name(std::string_view name);
// "; it has a, b and 30 more", for messages about a table.
std::string has_columns(const std::vector<Column>& columns);
// NotFound with the nearest column.
Error no_such_column(std::string_view name, const std::vector<Column>& columns);

}  // namespace capstan::script
