#include "script/fake_sql.h"

#include <algorithm>

#include "jobs/script/sql_error.h"
#include "script/fake_query.h"

namespace capstan::script {
namespace {

std::string type_of(const Cell& cell) {
  if (std::holds_alternative<bool>(cell)) return "BOOLEAN";
  if (std::holds_alternative<int64_t>(cell)) return "BIGINT";
  if (std::holds_alternative<double>(cell)) return "DOUBLE";
  return "VARCHAR";
}

std::vector<Scope> scopes_of(const Query& query, const Rows& table) {
  std::vector<Scope> singles;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    Scope scope{&table, {i}};
    if (!query.where || is_true(query.where(scope))) singles.push_back(scope);
  }
  if (!query.aggregate) return singles;
  std::vector<std::pair<std::vector<Cell>, Scope>> groups;
  if (query.groups.empty()) groups.push_back({{}, {&table, {}}});
  for (const Scope& single : singles) {
    std::vector<Cell> key;
    for (const Value& value : query.groups) key.push_back(value(single));
    auto found = std::ranges::find(groups, key, [](auto& group) { return group.first; });
    if (found == groups.end()) found = groups.insert(groups.end(), {key, {&table, {}}});
    found->second.rows.push_back(single.rows[0]);
  }
  std::vector<Scope> out;
  for (auto& group : groups) out.push_back(group.second);
  return out;
}

void sort(const Query& query, std::vector<Scope>& scopes) {
  std::ranges::stable_sort(scopes, [&](const Scope& a, const Scope& b) {
    for (size_t i = 0; i < query.order.size(); ++i) {
      const auto order = compared(query.order[i](a), query.order[i](b));
      if (order == 0 || order == std::partial_ordering::unordered) continue;
      return query.descending[i] ? order > 0 : order < 0;
    }
    return false;
  });
}

const Rows& found_table(const Query& query, const FindTable& find) {
  try {
    return find(query.table);
  } catch (const Error& error) {
    throw SqlError(error.code(), error.message(), query.table_at);
  }
}

Rows run(const Query& query, const FindTable& find) {
  Rows one;
  one.rows.resize(1);
  const Rows& table = query.table.empty() ? one : found_table(query, find);
  std::vector<Scope> scopes = scopes_of(query, table);
  if (!query.order.empty()) sort(query, scopes);
  if (scopes.size() > query.limit) scopes.resize(query.limit);
  Rows out;
  for (const Item& item : query.items) {
    if (item.all)
      out.columns.insert(out.columns.end(), table.columns.begin(), table.columns.end());
    else
      out.columns.push_back({item.name, "VARCHAR"});
  }
  for (const Scope& scope : scopes) {
    std::vector<Cell> row;
    for (const Item& item : query.items) {
      if (!item.all)
        row.push_back(item.value(scope));
      else if (!scope.rows.empty())
        row.insert(row.end(), table.rows[scope.rows[0]].begin(), table.rows[scope.rows[0]].end());
    }
    for (size_t i = 0; i < row.size() && out.rows.empty(); ++i)
      out.columns[i].type = type_of(row[i]);
    out.rows.push_back(std::move(row));
  }
  if (query.unioned) {
    Rows more = run(*query.unioned, find);
    for (auto& row : more.rows) {
      if (row.size() != out.columns.size())
        throw SqlError(Code::kInvalidArgument, "union of unequal widths", 0);
      out.rows.push_back(std::move(row));
    }
  }
  out.total = int64_t(out.rows.size());
  return out;
}

}  // namespace

Rows run_query(std::string_view sql, const FindTable& find) { return run(parse_query(sql), find); }

}  // namespace capstan::script
