#include "jobs/script/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "jobs/script/words.h"

namespace capstan::script {

std::string quoted_name(std::string_view name) {
  std::string text = "`";
  for (char c : name) text.append(c == '`' ? 2 : 1, c);
  return text + "`";
}

const Column* find_column(const std::vector<Column>& columns, std::string_view name) {
  auto it = std::ranges::find_if(columns, [&](const Column& c) { return same_word(c.name, name); });
  return it == columns.end() ? nullptr : &*it;
}

const Column& get_column(const std::vector<Column>& columns, std::string_view name) {
  if (const Column* found = find_column(columns, name)) return *found;
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  const std::string guess = did_you_mean(name, names);
  throw not_found("there is no column '{}' in the table{}", printable(name),
                  guess.empty() ? has_columns(columns) : guess);
}

std::string has_columns(const std::vector<Column>& columns) {
  constexpr size_t kShown = 12;
  std::string text = "; it has";
  for (size_t i = 0; i < std::min(columns.size(), kShown); ++i)
    text += fmt::format("{} {}", i ? "," : "", columns[i].name);
  if (columns.size() > kShown) text += fmt::format(" and {} more", columns.size() - kShown);
  return text;
}

bool is_list(const Column& column) { return column.type.ends_with(']'); }

int64_t list_width(Engine& engine, const std::string& table, const std::string& column) {
  const std::string name = quoted_name(column);
  const Rows rows = engine.query(
      fmt::format("select {} from {} where {} is not null limit 1", name, quoted_name(table), name),
      1);
  const auto* text = rows.rows.empty() ? nullptr : std::get_if<std::string>(&rows.rows[0][0]);
  return text ? 1 + std::ranges::count(*text, ',') : 1;
}

}  // namespace capstan::script
