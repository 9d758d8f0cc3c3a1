#include "build/composite.h"

#include <unordered_map>

namespace capstan {
namespace {

using ByName = std::unordered_map<std::string_view, const CompositeDef*>;

const ByName& by_name() {
  // Never destroyed: threads may be at work while the process ends.
  static const ByName& rows = *[] {
    auto* made = new ByName;
    for (const CompositeDef* row : all_composites()) made->emplace(row->name, row);
    return made;
  }();
  return rows;
}

}  // namespace

const CompositeDef& composite_called(std::string_view name) {
  auto found = by_name().find(name);
  if (found == by_name().end()) throw not_found("there is no composite '{}'", name);
  return *found->second;
}

std::vector<const CompositeDef*> all_composites() {
  std::vector<const CompositeDef*> rows;
  for (CompositeFamily family : composite_families()) {
    for (const CompositeDef& row : family) rows.push_back(&row);
  }
  return rows;
}

Reduction reduction_called(std::string_view name) {
  constexpr std::string_view kNames[] = {"none", "weighted_sum", "weighted_mean",
                                         "weighted_sum_over_batch_size",
                                         "weighted_sum_by_nonzero_weights"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return Reduction(i);
  }
  throw invalid_argument("'{}' is no reduction of losses: tf.losses.Reduction has them", name);
}

}  // namespace capstan
