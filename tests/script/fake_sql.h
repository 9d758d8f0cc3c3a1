#pragma once

// As much SQL as the language's own cases need: select over one table with where, group by, order
// by and limit, and union all. Numbers, texts, comparisons, count, sum, min, max.

#include <functional>
#include <string>
#include <string_view>

#include "jobs/script/table.h"

namespace capstan::script {

using FindTable = std::function<const Rows&(const std::string& name)>;

// Throws SqlError for what it does not know.
Rows run_query(std::string_view sql, const FindTable& find);

}  // namespace capstan::script
