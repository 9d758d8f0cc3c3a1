#include "graph/graph.h"

#include <algorithm>
#include <charconv>

#include "graph/attr_kind.h"
#include "graph/device.h"
#include "graph/shape_context.h"
#include "graph/signature.h"

namespace capstan {
namespace {

// What goes wrong while `node` is made says which node, once, and where the program makes it.
Error at_node(const Error& error, const Node& node) {
  std::string where = node.location().empty() ? "" : fmt::format(" ({})", node.location());
  std::string text = error.message(), named = fmt::format("{} (node '{}')", node.op(), node.name());
  text = text.starts_with(named) ? text.substr(named.size()) : ": " + text;
  return Error(error.code(), fmt::format("{} '{}'{}{}", node.op(), node.name(), text, where),
               node.name());
}

// TensorFlow's pattern for names: [A-Za-z0-9.][A-Za-z0-9_.\/>-]*
void check_node_name(std::string_view name) {
  if (!name.empty() && std::isalnum(uint8_t(name[0])) + (name[0] == '.') &&
      std::all_of(name.begin(), name.end(), [](uint8_t c) {
        return std::isalnum(c) ||
               (c && std::string_view("_.\\/>-").find(char(c)) != std::string_view::npos);
      })) {
    return;
  }
  throw invalid_argument(
      "'{}' is not a valid node name: a name starts with a letter, a digit or '.' "
      "and goes on with these and _ \\ / > -",
      name);
}

// The constant values of a node's inputs, found when a shape function asks for them.
class InputConstants {
 public:
  explicit InputConstants(const Node& node) : node_(node), values_(node.inputs().size()) {}
  const Tensor* operator()(int i) {
    auto& slot = values_[size_t(i)];
    if (!slot) slot = constant_for_shape(node_.input(i));
    return slot->has_value() ? &**slot : nullptr;
  }

 private:
  const Node& node_;
  std::vector<std::optional<std::optional<Tensor>>> values_;
};

std::vector<Shape> output_shapes(const Node& node) {
  std::vector<Shape> inputs;
  for (const Output& input : node.inputs()) inputs.push_back(input.shape());
  InputConstants constants(node);
  ShapeContext context(node, std::move(inputs), [&](int i) { return constants(i); });
  infer_shapes(context);
  return context.outputs();
}

}  // namespace

Graph::Graph(const Catalog& catalog) : catalog_(catalog) {}
Graph::~Graph() = default;

std::unique_ptr<Node> Graph::new_node(std::string_view op, std::span<const Output> inputs,
                                      AttrMap attrs) {
  check_not_finalized();
  auto node = std::make_unique<Node>();
  node->graph_ = this;
  if (locator_) node->location_ = locator_();
  node->def_ = catalog_.find(op);
  if (!node->def_) throw unknown_op(op, node->location_);
  node->inputs_.assign(inputs.begin(), inputs.end());
  node->attrs_ = std::move(attrs);
  return node;
}

Error Graph::unknown_op(std::string_view op, const std::string& location) const {
  try {
    catalog_.get(op);
  } catch (const Error& error) {
    if (location.empty()) return error;
    return Error(error.code(), fmt::format("{} ({})", error.message(), location));
  }
  return internal_error("op '{}' appeared while it was looked up", op);
}

void Graph::check_not_finalized() const {
  if (finalized_) {
    throw failed_precondition(
        "the graph is finalized and cannot be changed; build all nodes before "
        "the session or supervisor that finalizes it");
  }
}

Node& Graph::add_node(std::string_view op, std::span<const Output> inputs, AttrMap attrs,
                      std::string_view name) {
  std::unique_ptr<Node> node = new_node(op, inputs, std::move(attrs));
  if (name.empty()) name = node->op();
  node->name_ =
      name.ends_with('/') ? std::string(name.substr(0, name.size() - 1)) : unique_name(name);
  node->control_inputs_ = control_inputs_for(inputs);
  infer(*node);
  Node& made = insert(std::move(node));
  apply_attr_scopes(made);
  for (Controls& block : active_controls()) block.seen.insert(&made);
  apply_devices(made);
  apply_colocation(made);
  return made;
}

Node& Graph::import_node(std::string_view op, std::string name, std::vector<Output> inputs,
                         std::vector<Node*> control_inputs, AttrMap attrs, std::string device) {
  std::unique_ptr<Node> node = new_node(op, inputs, std::move(attrs));
  node->name_ = std::move(name);
  node->control_inputs_ = std::move(control_inputs);
  node->device_ = std::move(device);
  infer(*node);
  names_in_use_.try_emplace(name_key(node->name_), 1);
  return insert(std::move(node));
}

// Everything about a node that follows from its row, inputs and attrs.
void Graph::infer(Node& node) {
  try {
    check_node_name(node.name_);
    if (by_name_.contains(node.name_)) throw invalid_argument("the graph has a node of this name");
    check_inputs(node);
    Device::parse(node.device_);
    Signature signature = fit_signature(node.def(), node.inputs_, node.attrs_);
    node.input_refs_ = std::move(signature.input_refs);
    node.input_ranks_ = std::move(signature.input_ranks);
    node.output_refs_ = std::move(signature.output_refs);
    node.output_types_ = std::move(signature.output_types);
    node.output_shapes_.assign(node.output_types_.size(), Shape::unknown());
    node.output_shapes_ = output_shapes(node);
  } catch (const Error& error) {
    throw at_node(error, node);
  }
}

void Graph::check_inputs(const Node& node) const {
  for (size_t i = 0; i < node.inputs_.size(); ++i) {
    const Output& input = node.inputs_[i];
    if (!input) throw invalid_argument("input {} is missing", i);
    if (&input.graph() != this) {
      throw invalid_argument("input {} ('{}') belongs to another graph", i, input.name());
    }
    if (input.index < 0 || input.index >= input.node->outputs()) {
      throw invalid_argument("input {} is output {} of '{}', which has {}", i, input.index,
                             input.node->name(), input.node->outputs());
    }
  }
  for (const Node* before : node.control_inputs_) {
    if (&before->graph() != this) {
      throw invalid_argument("the control input '{}' belongs to another graph", before->name());
    }
  }
}

Node& Graph::insert(std::unique_ptr<Node> node) {
  node->id_ = size();
  Node& made = *node;
  nodes_.push_back(std::move(node));
  by_name_.emplace(made.name_, &made);
  ++version_;
  return made;
}

void Graph::forget_from(int first) {
  while (size() > first) {
    by_name_.erase(nodes_.back()->name_);
    nodes_.pop_back();
  }
}

Output Graph::add(std::string_view op, std::initializer_list<Output> inputs, AttrMap attrs,
                  std::string_view name) {
  return add(op, std::span(inputs.begin(), inputs.size()), std::move(attrs), name);
}

Output Graph::add(std::string_view op, std::span<const Output> inputs, AttrMap attrs,
                  std::string_view name) {
  Node& node = add_node(op, inputs, std::move(attrs), name);
  CAPSTAN_CHECK(node.outputs() >= 1);
  return node.output(0);
}

Output Graph::constant(Tensor value, std::string_view name) {
  DType dtype = value.dtype();
  return add("Const", {}, {{"value", std::move(value)}, {"dtype", dtype}}, name);
}

void Graph::add_control_input(Node& node, Node& before) {
  check_not_finalized();
  auto& inputs = node.control_inputs_;
  if (std::find(inputs.begin(), inputs.end(), &before) != inputs.end()) return;
  inputs.push_back(&before);
  ++version_;
}

void Graph::set_shape(Output value, const Shape& shape) {
  Shape& known = value.node->output_shapes_[size_t(value.index)];
  if (!known.compatible_with(shape)) {
    throw invalid_argument("'{}' has shape {}, which does not go with {}", value.name(), known,
                           shape);
  }
  Shape merged = known.merged_with(shape);
  if (merged == known) return;
  known = merged;
  ++version_;
}

void Graph::set_attr(Node& node, std::string name, Attr value) {
  const AttrDef* def = find_attr(node.def(), name);
  if (!def && !name.starts_with('_')) {
    throw invalid_argument("{} '{}': the op has no attr '{}'", node.op(), node.name(), name);
  }
  node.attrs_.set(std::move(name), def ? fitting_attr(*def, std::move(value)) : std::move(value));
  ++version_;
}

void Graph::set_device(Node& node, std::string device) {
  Device::parse(device);
  node.device_ = std::move(device);
  ++version_;
}

Node* Graph::find(std::string_view name) const {
  auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : it->second;
}

Output Graph::output(std::string_view name) const {
  size_t colon = name.rfind(':');
  std::string_view node_name = name.substr(0, colon);
  int index = 0;
  if (colon != name.npos) {
    const char* end = name.data() + name.size();
    auto [stop, error] = std::from_chars(name.data() + colon + 1, end, index);
    if (error != std::errc{} || stop != end || index < 0) {
      throw invalid_argument("'{}' is not the name of a tensor: it must look like 'node:0'", name);
    }
  }
  Node* node = find(node_name);
  if (!node) {
    throw not_found("there is no tensor '{}': the graph has no node '{}'", name, node_name);
  }
  if (index >= node->outputs()) {
    throw not_found("there is no tensor '{}': the node '{}' has only {} outputs", name, node_name,
                    node->outputs());
  }
  return node->output(index);
}

}  // namespace capstan
