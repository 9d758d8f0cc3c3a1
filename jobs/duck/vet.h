#pragma once

// What SQL of scripts may do: read tables of the script, and make, fill and drop them. The store is
// locked besides (core.h); this says no earlier, and says why.

#include <string>
#include <vector>

#include "jobs/duck/connection.h"
#include "jobs/duck/spark_sql.h"
#include "jobs/duck/tables.h"

namespace capstan::duck {

// `sql` is for DuckDB already. Throws PermissionDenied for a query that calls a function which
// reaches files, settings or the network; NotFound for a table that the script does not have;
// InvalidArgument for what is no query.
void vet_query(Link& link, const Tables& tables, const std::string& sql);

// insert, create, drop, refresh.
struct Order {
  enum class Kind { kInsert, kCreate, kDeclare, kDrop, kRefresh };
  Kind kind;
  std::string table;
  std::string columns;   // "(a, b)" of insert; "(a INT, b DOUBLE)" of create without a query
  size_t after = 0;      // the token behind the table's name
  size_t query = 0;      // the token where its query begins
  bool lenient = false;  // if [not] exists
  bool replace = false;
};

// Throws SqlError at the token that is not allowed.
Order read_order(const SparkSql& sql);

}  // namespace capstan::duck
