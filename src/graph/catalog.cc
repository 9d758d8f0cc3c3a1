#include "graph/catalog.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/error.h"
#include "base/nearest.h"
#include "graph/node.h"

namespace capstan {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](uint8_t c) { return std::tolower(c); });
  return out;
}

// A slip in the case of a letter counts less than any other.
size_t spelling_distance(std::string_view a, std::string_view b) {
  return 4 * edit_distance(lower_case(a), lower_case(b)) + edit_distance(a, b);
}

}  // namespace

Catalog::Catalog(std::span<const OpDef* const> rows, Run run)
    : rows_(rows.begin(), rows.end()), run_(run) {
  for (const OpDef* row : rows_) {
    bool added = by_name_.emplace(row->name, row).second;
    CAPSTAN_CHECK(added);
  }
}

std::vector<Tensor> Catalog::run(const Node& node, std::vector<Tensor> inputs) const {
  if (!run_) throw unimplemented("{} cannot run while a graph is built here", node.op());
  return run_(node, std::move(inputs));
}

const OpDef* Catalog::find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

const OpDef& Catalog::get(std::string_view name) const {
  if (const OpDef* def = find(name)) return *def;
  // A name out of a file may be of any length and hold any bytes.
  std::string message = fmt::format("there is no op '{}'", name.substr(0, 100));
  const char* separator = "; the nearest are ";
  for (std::string_view near : nearest(name)) {
    message += fmt::format("{}{}", separator, near);
    separator = ", ";
  }
  throw Error(Code::kUnimplemented, std::move(message));
}

std::vector<std::string_view> Catalog::nearest(std::string_view name, size_t count) const {
  name = name.substr(0, 100);
  std::vector<std::pair<size_t, std::string_view>> scored;
  for (const OpDef* row : rows_) {
    if (edit_distance(lower_case(name), lower_case(row->name)) > most_edits(name)) continue;
    scored.emplace_back(spelling_distance(name, row->name), row->name);
  }
  count = std::min(count, scored.size());
  std::partial_sort(scored.begin(), scored.begin() + ptrdiff_t(count), scored.end());
  std::vector<std::string_view> names;
  for (size_t i = 0; i < count; ++i) names.push_back(scored[i].second);
  return names;
}

}  // namespace capstan
