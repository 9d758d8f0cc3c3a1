#include "train/written_graph.h"

#include <charconv>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "graph/proto_convert.h"

namespace capstan {
namespace {

constexpr int kLongestChain = 100;

bool hands_on(const pb::NodeDef& node) { return node.op() == "Identity" || node.op() == "Reshape"; }

// All nodes that one needs, itself among them.
std::vector<const pb::NodeDef*> needed_by(const WrittenGraph& graph, const std::string& name) {
  std::vector<const pb::NodeDef*> found;
  std::unordered_set<const pb::NodeDef*> seen;
  auto visit = [&](std::string_view input) {
    if (input.starts_with('^')) input.remove_prefix(1);
    const pb::NodeDef* node = graph.find(std::string(input.substr(0, input.find(':'))));
    if (node && seen.insert(node).second) found.push_back(node);
  };
  visit(name);
  for (size_t i = 0; i < found.size(); ++i) {
    for (const std::string& input : found[i]->input()) visit(input);
  }
  return found;
}

// The texts of a constant, or none.
std::vector<std::string> constant_texts(const WrittenGraph& graph, const std::string& input) {
  TensorName at;
  const pb::NodeDef* node = graph.origin(input, at);
  if (!node || node->op() != "Const" || !node->attr().contains("value")) return {};
  FillBudget budget(1 << 20);
  const Tensor value = read_tensor(node->attr().at("value").tensor(), budget);
  if (value.dtype() != DType::kString) return {};
  return {value.data<std::string>(), value.data<std::string>() + value.size()};
}

// Names and parts of what each RestoreV2 reads: read once, as one of them serves all variables.
class RestoreLists {
 public:
  explicit RestoreLists(const WrittenGraph& graph) : graph_(graph) {}

  const SavedAs* find(const pb::NodeDef& restore, int index) {
    auto [it, fresh] = lists_.try_emplace(&restore);
    if (fresh) it->second = read(restore);
    return size_t(index) < it->second.size() ? &it->second[size_t(index)] : nullptr;
  }

 private:
  std::vector<SavedAs> read(const pb::NodeDef& restore) const {
    if (restore.op() != "RestoreV2" || restore.input_size() < 3) return {};
    const auto slices = constant_texts(graph_, restore.input(2));
    std::vector<SavedAs> list;
    for (std::string& key : constant_texts(graph_, restore.input(1))) {
      const size_t i = list.size();
      list.push_back({std::move(key), i < slices.size() ? slices[i] : ""});
    }
    return list;
  }

  const WrittenGraph& graph_;
  std::unordered_map<const pb::NodeDef*, std::vector<SavedAs>> lists_;
};

}  // namespace

TensorName parse_tensor_name(std::string_view text) {
  const size_t colon = text.rfind(':');
  TensorName name{std::string(text.substr(0, colon)), 0};
  if (colon == text.npos) return name;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + colon + 1, end, name.index);
  if (error != std::errc{} || stop != end || name.index < 0) {
    throw invalid_argument("'{}' does not name a tensor: \"node\" or \"node:0\" does", text);
  }
  return name;
}

WrittenGraph::WrittenGraph(const pb::GraphDef& def) : def_(def) {
  for (const pb::NodeDef& node : def.node()) {
    if (!by_name_.emplace(node.name(), &node).second)
      throw invalid_argument("two nodes have the name '{}'", node.name());
  }
}

const pb::NodeDef* WrittenGraph::find(const std::string& name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

const pb::NodeDef& WrittenGraph::get(const std::string& name, std::string_view what) const {
  if (const pb::NodeDef* node = find(name)) return *node;
  std::vector<std::string> names;
  for (const auto& [known, node] : by_name_) names.emplace_back(known);
  throw not_found("{} '{}' is not in the graph{}", what, name, did_you_mean(name, names));
}

const pb::NodeDef* WrittenGraph::origin(std::string_view input, TensorName& at) const {
  at = parse_tensor_name(input);
  const pb::NodeDef* node = find(at.node);
  for (int i = 0; node && hands_on(*node) && node->input_size() > 0; ++i) {
    if (i == kLongestChain) return nullptr;
    at = parse_tensor_name(node->input(0));
    node = find(at.node);
  }
  return node;
}

std::unordered_map<std::string, SavedAs> saved_names(const WrittenGraph& graph,
                                                     const pb::SaverDef& saver) {
  std::unordered_map<std::string, SavedAs> out;
  RestoreLists lists(graph);
  for (const pb::NodeDef* node : needed_by(graph, saver.restore_op_name())) {
    const bool assigns = node->op() == "Assign" || node->op() == "AssignVariableOp";
    if (!assigns || node->input_size() < 2) continue;
    TensorName value, target;
    const pb::NodeDef* restore = graph.origin(node->input(1), value);
    const pb::NodeDef* variable = graph.origin(node->input(0), target);
    const SavedAs* saved = restore && variable ? lists.find(*restore, value.index) : nullptr;
    if (saved) out[variable->name()] = *saved;
  }
  return out;
}

Tensor saved_value(const BundleReader& reader, const pb::NodeDef& variable, const SavedAs& as) {
  Tensor value;
  try {
    value = reader.read_spec(as.key, as.slice);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("the variable '{}': {}", variable.name(), error.message()));
  }
  const auto& attrs = variable.attr();
  const DType dtype =
      attrs.contains("dtype") ? read_dtype(attrs.at("dtype").type()) : value.dtype();
  // The old op meant by a scalar shape an unknown one, too.
  Shape shape = attrs.contains("shape") ? read_shape(attrs.at("shape").shape()) : value.shape();
  if (variable.op() == "Variable" && shape == Shape{}) shape = value.shape();
  if (dtype == value.dtype() && shape.compatible_with(value.shape())) return value;
  throw invalid_argument(
      "the variable '{}' is {} {} in the graph, but '{}' in {} is {} {}; graph and checkpoint "
      "are "
      "of different programs",
      variable.name(), dtype_name(dtype), shape, as.key, reader.prefix(), dtype_name(value.dtype()),
      value.shape());
}

}  // namespace capstan
