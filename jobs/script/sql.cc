// Statements that are SQL: select, and insert, create, drop, refresh.

#include "jobs/script/run.h"

namespace capstan::script {

void execute(const Here& here, const SelectStatement& statement) {
  const std::string table = here.name(statement.table);
  here.with_sql(statement.sql,
                [&](std::string_view sql) { here.session.engine.select(sql, table); });
  here.session.last_table = table;
}

void execute(const Here& here, const RawSqlStatement& statement) {
  here.with_sql(statement.sql, [&](std::string_view sql) { here.session.engine.execute(sql); });
}

}  // namespace capstan::script
