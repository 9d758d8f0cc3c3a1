#include "train/frozen_graph.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "build/basics.h"
#include "graph/graph_def.h"
#include "graph/proto_convert.h"
#include "graph/signature.h"
#include "io/bundle.h"
#include "train/written_graph.h"

namespace capstan {
namespace {

bool is_placeholder(const pb::NodeDef& node) {
  return node.op() == "Placeholder" || node.op() == "PlaceholderV2";
}
bool is_variable(const pb::NodeDef& node) {
  return node.op() == "VariableV2" || node.op() == "Variable";
}

class Freezer {
 public:
  Freezer(const pb::MetaGraphDef& meta, const Catalog& catalog, Files& files,
          const std::string& bundle, const FreezeRequest& request)
      : meta_(meta),
        written_(meta.graph_def()),
        catalog_(catalog),
        files_(files),
        bundle_(bundle),
        request_(request) {
    out_.graph = std::make_unique<Graph>(catalog);
  }

  FrozenGraph run() {
    for (const FrozenInput& input : request_.inputs) add_input(input);
    for (const auto& [tensor, value] : request_.constants) add_constant(tensor, value);
    collect();
    take_placeholders();
    check_runnable(needed_, catalog_);
    restore_variables();
    std::ranges::sort(out_.variables);
    import();
    for (const std::string& output : request_.outputs) out_.outputs.push_back(find_output(output));
    return std::move(out_);
  }

 private:
  // --- What is given -----------------------------------------------------------------------------

  void add_input(const FrozenInput& input) {
    const TensorName name = parse_tensor_name(input.tensor);
    const pb::NodeDef& node = written_.get(name.node, "the input");
    if (given_.contains(name)) throw invalid_argument("the input '{}' is named twice", name.text());
    const DType dtype = input.dtype == DType::kInvalid ? dtype_of(node, name) : input.dtype;
    Node& fed = out_.graph->import_node(
        "Placeholder", free_name(name), {}, {},
        {{"dtype", dtype}, {"shape", input.shape.merged_with(shape_of(node, name))}}, "");
    given_[name] = fed.output(0);
    out_.inputs.push_back(fed.output(0));
    out_.input_tensors.push_back(name.text());
  }

  void add_constant(const std::string& tensor, double value) {
    const TensorName name = parse_tensor_name(tensor);
    const pb::NodeDef& node = written_.get(name.node, "the input");
    if (given_.contains(name)) throw invalid_argument("the input '{}' is named twice", name.text());
    Shape shape = shape_of(node, name);
    if (shape.compatible_with({})) shape = {};
    for (int i = 0; i < shape.rank(); ++i) shape[i] = shape[i] < 0 ? 1 : shape[i];
    const DType dtype = dtype_of(node, name);
    check_constant(name, dtype, shape, value);
    given_[name] = constant(filled(dtype, shape, value), name);
  }

  static void check_constant(const TensorName& name, DType dtype, const Shape& shape,
                             double value) {
    constexpr double kMost = 9007199254740992;  // up to here each whole number is a double
    constexpr int64_t kMostElements = 1 << 20;
    if (shape.elements() > kMostElements)
      throw invalid_argument("'{}' of shape {} is too large for one value", name.text(), shape);
    const bool whole = value == double(int64_t(std::clamp(value, -kMost, kMost)));
    const bool fits =
        is_floating(dtype) || (whole && (dtype == DType::kInt64 || std::abs(value) <= INT32_MAX));
    if (!fits)
      throw invalid_argument("{} is no {} for '{}'", value, dtype_name(dtype), name.text());
  }

  // The name of the tensor's node where that does not come in itself.
  std::string free_name(const TensorName& name) {
    const pb::NodeDef& node = *written_.find(name.node);
    if (name.index == 0 && (is_placeholder(node) || variable_read_by(node))) return name.node;
    std::string fresh = fmt::format("given_{}/{}", given_.size(), name.node);
    while (written_.find(fresh)) fresh += "_";
    return fresh;
  }

  AttrMap attrs_of(const pb::NodeDef& node, const OpDef& op) {
    AttrMap attrs;
    for (const auto& [key, value] : node.attr()) {
      const AttrDef* def = nullptr;
      for (const AttrDef& attr : op.attrs) def = attr.name == key ? &attr : def;
      if (def) attrs.set(key, read_attr(value, def, budget_));
    }
    return attrs;
  }

  DType dtype_of(const pb::NodeDef& node, const TensorName& name) {
    const std::vector<DType> types =
        output_types(catalog_.get(node.op()), attrs_of(node, catalog_.get(node.op())));
    if (size_t(name.index) < types.size()) return types[size_t(name.index)];
    throw not_found("'{}' is not there: {} '{}' has {} outputs", name.text(), node.op(),
                    node.name(), types.size());
  }

  // As far as the file says it: shapes of other nodes are worked out anew, in vain where what they
  // are made of does not come in.
  static Shape shape_of(const pb::NodeDef& node, const TensorName& name) {
    const auto& attrs = node.attr();
    const bool declared = node.op().starts_with("Placeholder");
    if (declared && attrs.contains("shape") && attrs.at("shape").has_shape())
      return read_shape(attrs.at("shape").shape());
    if (!attrs.contains("_output_shapes")) return Shape::unknown();
    const auto& shapes = attrs.at("_output_shapes").list().shape();
    return name.index < shapes.size() ? read_shape(shapes[name.index]) : Shape::unknown();
  }

  Output constant(Tensor value, const TensorName& name) {
    const DType dtype = value.dtype();
    return out_.graph
        ->import_node("Const", free_name(name), {}, {},
                      {{"dtype", dtype}, {"value", std::move(value)}}, "")
        .output(0);
  }

  // --- What is needed ----------------------------------------------------------------------------

  void collect() {
    for (const std::string& output : request_.outputs) {
      const TensorName name = parse_tensor_name(output);
      written_.get(name.node, "the output");
      want(name);
    }
    // Grows meanwhile.
    for (size_t i = 0; i < needed_.size(); ++i) {
      for (const std::string& input : needed_[i]->input()) {
        if (input.starts_with('^')) {
          visit(written_.get(input.substr(1), "an input"));
        } else {
          want(parse_tensor_name(input));
        }
      }
    }
  }

  void want(const TensorName& name) {
    if (!given_.contains(name)) visit(written_.get(name.node, "an input"));
  }

  void visit(const pb::NodeDef& node) {
    if (!seen_.insert(&node).second) return;
    if (given_.contains({node.name(), 0}) && is_placeholder(node)) return;
    if (is_placeholder(node)) {
      placeholders_.insert(&node);
    } else if (const pb::NodeDef* variable = variable_read_by(node)) {
      variables_.emplace_back(&node, variable);
    } else {
      needed_.push_back(&node);
    }
  }

  // The node itself, or for a ReadVariableOp the variable that its handle belongs to.
  const pb::NodeDef* variable_read_by(const pb::NodeDef& node) const {
    if (is_variable(node)) return &node;
    if (node.op() != "ReadVariableOp" || node.input_size() < 1) return nullptr;
    TensorName at;
    const pb::NodeDef* handle = written_.origin(node.input(0), at);
    return handle && handle->op() == "VarHandleOp" ? handle : nullptr;
  }

  void take_placeholders() {
    std::string missing;
    for (const pb::NodeDef& node : written_.def().node()) {
      if (!placeholders_.contains(&node)) continue;
      const TensorName name{node.name(), 0};
      if (request_.other_placeholders) {
        add_input({name.text()});
      } else {
        missing += fmt::format("{}'{}' ({}, {})", missing.empty() ? "" : ", ", name.text(),
                               dtype_name(dtype_of(node, name)), shape_of(node, name));
      }
    }
    if (missing.empty()) return;
    throw invalid_argument("the outputs need more inputs: {}; name each, with a column or a value",
                           missing);
  }

  // --- Variables ---------------------------------------------------------------------------------

  void restore_variables() {
    if (variables_.empty()) return;
    if (!bundle_exists(files_, bundle_)) {
      throw not_found("the outputs need '{}' and {} more variables, but there is no checkpoint {}",
                      variables_[0].second->name(), variables_.size() - 1, bundle_);
    }
    const BundleReader reader(files_, bundle_);
    const auto saved = saved_names(written_, meta_.saver_def());
    for (const auto& [node, variable] : variables_) {
      const TensorName name{node->name(), 0};
      if (given_.contains(name)) continue;
      auto it = saved.find(variable->name());
      const SavedAs as = it == saved.end() ? SavedAs{variable->name(), ""} : it->second;
      given_[name] = constant(saved_value(reader, *variable, as), name);
      out_.variables.push_back(variable->name());
    }
  }

  // --- The graph ---------------------------------------------------------------------------------

  void import() {
    pb::GraphDef def;
    *def.mutable_versions() = written_.def().versions();
    std::unordered_set<std::string_view> names;
    for (const pb::NodeDef* node : needed_) names.insert(node->name());
    for (const pb::NodeDef* node : needed_) *def.add_node() = stripped(*node, names);
    ImportOptions options;
    for (const auto& [name, value] : given_) {
      if (!is_only_an_output(name)) options.input_map[name.text()] = value;
    }
    from_graph_def(*out_.graph, def.SerializeAsString(), options);
  }

  // A variable that is asked for itself, and that nothing else needs.
  bool is_only_an_output(const TensorName& name) const {
    auto same = [&](const std::string& text) { return parse_tensor_name(text) == name; };
    auto reads = [&](const pb::NodeDef* node) {
      return std::ranges::any_of(node->input(), [&](const std::string& input) {
        return !input.starts_with('^') && same(input);
      });
    };
    return std::ranges::any_of(request_.outputs, same) && std::ranges::none_of(needed_, reads);
  }

  // Neither placed, nor beside another node, nor after one that is not there.
  static pb::NodeDef stripped(pb::NodeDef node, const std::unordered_set<std::string_view>& names) {
    node.clear_device();
    node.mutable_attr()->erase("_class");
    auto& inputs = *node.mutable_input();
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                [&](const std::string& input) {
                                  return input.starts_with('^') &&
                                         !names.contains(std::string_view(input).substr(1));
                                }),
                 inputs.end());
    return node;
  }

  Output find_output(const std::string& text) const {
    const TensorName name = parse_tensor_name(text);
    if (auto it = given_.find(name); it != given_.end()) return it->second;
    Node* node = out_.graph->find(name.node);
    if (node && name.index < node->outputs()) return node->output(name.index);
    throw not_found("the output '{}' is not there: its node has {} outputs", name.text(),
                    node ? node->outputs() : 0);
  }

  const pb::MetaGraphDef& meta_;
  const WrittenGraph written_;
  const Catalog& catalog_;
  Files& files_;
  const std::string bundle_;
  const FreezeRequest& request_;
  FrozenGraph out_;
  FillBudget budget_{kMaxFillBytes};
  std::map<TensorName, Output> given_;  // what takes the place of a tensor of the file
  std::unordered_set<const pb::NodeDef*> seen_, placeholders_;
  std::vector<const pb::NodeDef*> needed_;
  std::vector<std::pair<const pb::NodeDef*, const pb::NodeDef*>> variables_;  // reader, variable
};

}  // namespace

FrozenGraph freeze_graph(const pb::MetaGraphDef& meta, const Catalog& catalog, Files& files,
                         const std::string& bundle, const FreezeRequest& request) {
  if (request.outputs.empty()) throw invalid_argument("no output was named");
  return Freezer(meta, catalog, files, bundle, request).run();
}

}  // namespace capstan
