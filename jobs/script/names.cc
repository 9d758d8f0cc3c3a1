#include "jobs/script/names.h"

#include <algorithm>

#include "base/nearest.h"

namespace capstan::script {

bool same_name(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + "\"";
}

std::string has_columns(const std::vector<Column>& columns) {
  constexpr size_t kShown = 12;
  std::string text = "; it has";
  for (size_t i = 0; i < std::min(columns.size(), kShown); ++i)
    text += fmt::format("{} {}", i ? "," : "", columns[i].name);
  if (columns.size() > kShown) text += fmt::format(" and {} more", columns.size() - kShown);
  return text;
}

Error no_such_column(std::string_view name, const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  const std::string guess = did_you_mean(name, names);
  return not_found("there is no column '{}'{}", name, guess.empty() ? has_columns(columns) : guess);
}

}  // namespace capstan::script
