#pragma once

// Results as cells, and cells as tables.

#include <string>
#include <vector>

#include "jobs/duck/connection.h"
#include "jobs/script/table.h"

namespace capstan::duck {

// All rows of a result whose columns are truth values, numbers or text.
std::vector<std::vector<script::Cell>> read_cells(const Api& api, Result& result);

// SQL that turns a column into what read_cells takes: nested values into JSON, dates into text.
std::string cell_expression(const script::Column& column);

// `stored` becomes a table of these rows. Throws InvalidArgument for a cell that is not of its
// column's type, or a row of another width.
void write_cells(Link& link, const script::Rows& rows, const std::string& stored);

}  // namespace capstan::duck
