#include "jobs/script/algorithm.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "jobs/script/dtf.h"
#include "jobs/script/evaluate.h"
#include "jobs/script/repartition.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

const Algorithm* const kAlgorithms[] = {
    &kDtf,
    &kEvaluate,
    &kTableRepartition,
    &kRepartitionExt,
};

// "dTF" for "DTF", since scripts of the original write both.
bool same_name(std::string_view a, std::string_view b) {
  return !a.empty() && !b.empty() && lower(a[0]) == lower(b[0]) && a.substr(1) == b.substr(1);
}

}  // namespace

std::span<const Algorithm* const> all_algorithms() { return kAlgorithms; }

const Algorithm& find_algorithm(std::string_view name, const Place& place) {
  std::vector<std::string> names;
  for (const Algorithm* algorithm : kAlgorithms) {
    if (same_name(algorithm->name, name)) return *algorithm;
    names.emplace_back(algorithm->name);
  }
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("; there are {}", fmt::join(names, ", "));
  throw error_at(place, Code::kNotFound,
                 fmt::format("there is no algorithm {}{}", shown(name), hint));
}

}  // namespace capstan::script
