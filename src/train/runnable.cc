#include <algorithm>
#include <map>

#include "base/error.h"
#include "train/written_graph.h"

namespace capstan {
namespace {

// Of the graph's op a few nodes are named, and the others counted.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 2;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += fmt::format("{}'{}'", i ? ", " : "", names[i]);
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

using ByOp = std::map<std::string, std::vector<std::string>>;
std::string ops_text(const ByOp& ops) {
  std::string text;
  for (const auto& [op, nodes] : ops)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", op, some_of(nodes));
  return text;
}

Error unknown_ops(const ByOp& unknown) {
  const bool calls = std::ranges::any_of(
      unknown, [](const auto& item) { return item.first.ends_with("PartitionedCall"); });
  return unimplemented("the outputs need ops that Capstan does not have: {}{}", ops_text(unknown),
                       calls ? "; functions are not run: export the model from a graph, with "
                               "tf.compat.v1.saved_model"
                             : "");
}

}  // namespace

void check_runnable(std::span<const pb::NodeDef* const> nodes, const Catalog& catalog) {
  ByOp unknown, waiting, writing;
  for (const pb::NodeDef* node : nodes) {
    const OpDef* op = catalog.find(node->op());
    if (!op) {
      unknown[node->op()].push_back(node->name());
    } else if (op->blocking) {
      waiting[node->op()].push_back(node->name());
    } else if (op->writes) {
      writing[node->op()].push_back(node->name());
    }
  }
  if (!unknown.empty()) throw unknown_ops(unknown);
  if (!waiting.empty()) {
    throw invalid_argument(
        "the outputs need {}, for which nobody provides here; name what they give among the "
        "inputs",
        ops_text(waiting));
  }
  if (!writing.empty()) {
    throw invalid_argument("the outputs change variables, by {}; name tensors that only read",
                           ops_text(writing));
  }
}

}  // namespace capstan
