#pragma once

// Results as cells, and cells as tables.

#include <string>
#include <vector>

#include "jobs/duck/cell_type.h"
#include "jobs/duck/connection.h"
#include "jobs/script/table.h"

namespace capstan::duck {

// Of the columns of a stored table.
std::vector<CellType> cell_types(Link& link, const std::string& stored);
// What to select of it for read_cells.
std::string cell_list(const std::vector<script::Column>& columns,
                      const std::vector<CellType>& types);

// All rows of a result.
std::vector<std::vector<script::Cell>> read_cells(const Api& api, Result& result,
                                                  const std::vector<CellType>& types);
// The same for our own small questions, whose columns need no cast.
std::vector<std::vector<script::Cell>> read_cells(const Api& api, Result& result);

// `stored` becomes a table of these rows. Throws InvalidArgument for a cell that is not of its
// column's type, or a row of another width.
void write_cells(Link& link, const script::Rows& rows, const std::string& stored);

}  // namespace capstan::duck
