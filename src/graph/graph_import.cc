// GraphDefs in. Nodes may come in any order; nothing in the bytes is trusted.

#include <charconv>
#include <deque>
#include <unordered_map>

#include "graph/attr_kind.h"
#include "graph/graph_def.h"
#include "graph/proto_convert.h"

namespace capstan {
namespace {

constexpr int kKnownConsumer = 12;
constexpr std::string_view kColocationPrefix = "loc:@";
// Over all nodes: a few bytes can ask for many outputs.
constexpr int64_t kMaxOutputs = 1 << 22;

// "node", "node:1" or "^node".
struct InputName {
  std::string_view node;
  int index = 0;
  bool control = false;
};

InputName parse_input(std::string_view text) {
  if (text.starts_with('^')) return {text.substr(1), 0, true};
  size_t colon = text.rfind(':');
  if (colon == text.npos) return {text};
  InputName name{text.substr(0, colon)};
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + colon + 1, end, name.index);
  if (error != std::errc{} || stop != end || name.index < 0) {
    throw invalid_argument("'{}' does not name an input", text);
  }
  return name;
}

}  // namespace

// Takes back the nodes it added unless it gets to the end.
class GraphImporter {
 public:
  GraphImporter(Graph& graph, const pb::GraphDef& def, const ImportOptions& options)
      : graph_(graph),
        def_(def),
        options_(options),
        first_(graph.size()),
        made_(size_t(def.node_size())) {
    for (const auto& [name, value] : options.input_map) {
      InputName key = parse_input(name);
      replaced_.emplace(fmt::format("{}:{}", key.node, key.index), value);
    }
  }
  ~GraphImporter() {
    if (!done_) graph_.forget_from(first_);
  }

  std::vector<Node*> run() {
    if (def_.versions().min_consumer() > kKnownConsumer) {
      throw invalid_argument("the graph is for readers of version {}; this one has {}",
                             def_.versions().min_consumer(), kKnownConsumer);
    }
    index_names();
    for (const auto& [name, value] : options_.input_map) check_mapped(name);
    for (int at : order()) add(at);
    done_ = true;
    return made_;
  }

 private:
  void index_names() {
    for (int i = 0; i < def_.node_size(); ++i) {
      const std::string& name = def_.node(i).name();
      if (!index_.emplace(name, i).second)
        throw invalid_argument("two nodes have the name '{}'", name);
    }
  }

  // A slip in a name would leave the old value in its place, in silence. An input that names no
  // node of the GraphDef may be mapped: that is what makes such a part of a graph whole.
  void check_mapped(std::string_view name) const {
    InputName key = parse_input(name);
    if (index_.contains(key.node) || is_input(key)) return;
    throw invalid_argument("the input map names '{}', which is not in the graph to be imported",
                           name);
  }

  bool is_input(const InputName& key) const {
    for (const pb::NodeDef& node : def_.node()) {
      for (const std::string& text : node.input()) {
        InputName input = parse_input(text);
        if (input.node == key.node && input.index == key.index) return true;
      }
    }
    return false;
  }

  bool is_replaced(const InputName& input) const {
    return !input.control && !replaced_.empty() &&
           replaced_.contains(fmt::format("{}:{}", input.node, input.index));
  }

  // The position of the node that an input names, or -1 for one that is not among the new nodes.
  int source(int at, std::string_view text) const {
    try {
      InputName input = parse_input(text);
      if (is_replaced(input)) return -1;
      auto it = index_.find(input.node);
      if (it != index_.end()) return it->second;
      if (options_.extends && graph_.find(input.node)) return -1;
      throw invalid_argument("its input '{}' is not in the graph", text);
    } catch (const Error& error) {
      throw at_node(error, at);
    }
  }

  // File order where it is possible, else as early as the inputs allow.
  std::vector<int> order() const {
    std::vector<int> waiting(made_.size(), 0), order;
    std::vector<std::vector<int>> consumers(made_.size());
    std::deque<int> ready;
    bool sorted = true;
    for (int at = 0; at < def_.node_size(); ++at) {
      for (const std::string& input : def_.node(at).input()) {
        int from = source(at, input);
        if (from < 0) continue;
        consumers[size_t(from)].push_back(at);
        ++waiting[size_t(at)];
        sorted = sorted && from < at;
      }
      if (waiting[size_t(at)] == 0) ready.push_back(at);
      order.push_back(at);
    }
    if (sorted) return order;
    if (options_.trusted_order) throw invalid_argument("the nodes do not come after their inputs");
    order.clear();
    for (; !ready.empty(); ready.pop_front()) {
      order.push_back(ready.front());
      for (int consumer : consumers[size_t(ready.front())]) {
        if (--waiting[size_t(consumer)] == 0) ready.push_back(consumer);
      }
    }
    if (order.size() != made_.size()) throw cycle_error(waiting);
    return order;
  }

  // From a node that never became ready, inputs that did not either lead into the cycle.
  Error cycle_error(const std::vector<int>& waiting) const {
    int at = 0;
    while (waiting[size_t(at)] == 0) ++at;
    std::vector<int> step_of(made_.size(), -1), path;
    while (step_of[size_t(at)] < 0) {
      step_of[size_t(at)] = int(path.size());
      path.push_back(at);
      for (const std::string& input : def_.node(at).input()) {
        int from = source(at, input);
        if (from < 0 || waiting[size_t(from)] == 0) continue;
        at = from;
        break;
      }
    }
    std::string names;
    for (size_t i = size_t(step_of[size_t(at)]); i < path.size() && names.size() < 300; ++i) {
      names += fmt::format("'{}' <- ", def_.node(path[i]).name());
    }
    return invalid_argument("the graph has a cycle: {}'{}'", names, def_.node(at).name());
  }

  void add(int at) {
    const pb::NodeDef& def = def_.node(at);
    try {
      Inputs inputs = read_inputs(def);
      made_[size_t(at)] =
          &graph_.import_node(def.op(), prefixed(def.name()), std::move(inputs.values),
                              std::move(inputs.controls), read_attrs(def), def.device());
    } catch (const Error& error) {
      // import_node() names the node itself, once it knows the op.
      if (error.op().empty()) throw at_node(error, at);
      throw;
    }
    outputs_ += made_[size_t(at)]->outputs();
    if (outputs_ > kMaxOutputs)
      throw resource_exhausted("the graph has more than {} outputs", kMaxOutputs);
  }

  struct Inputs {
    std::vector<Output> values;
    std::vector<Node*> controls;
  };
  Inputs read_inputs(const pb::NodeDef& def) const {
    Inputs inputs;
    for (const std::string& text : def.input()) {
      InputName name = parse_input(text);
      if (!name.control && !inputs.controls.empty()) {
        throw invalid_argument("its input '{}' stands after a control input", text);
      }
      if (is_replaced(name)) {
        inputs.values.push_back(replaced_.at(fmt::format("{}:{}", name.node, name.index)));
      } else if (Node* from = node(name.node); name.control) {
        inputs.controls.push_back(from);
      } else {
        inputs.values.push_back(from->output(name.index));
      }
    }
    return inputs;
  }

  // One that order() has found: among the new ones, or before them.
  Node* node(std::string_view name) const {
    auto it = index_.find(name);
    return it == index_.end() ? graph_.find(name) : made_[size_t(it->second)];
  }

  AttrMap read_attrs(const pb::NodeDef& def) {
    const OpDef* op = graph_.catalog().find(def.op());
    AttrMap attrs;
    for (const auto& [name, value] : def.attr()) {
      // Shapes are inferred anew, not believed.
      if (name == "_output_shapes") continue;
      try {
        attrs.set(name, read_attr(value, op ? find_attr(*op, name) : nullptr, budget_));
      } catch (const Error& error) {
        throw Error(error.code(), fmt::format("its attr '{}': {}", name, error.message()));
      }
    }
    prefix_colocation(attrs);
    return attrs;
  }

  void prefix_colocation(AttrMap& attrs) const {
    const Attr* attr = attrs.find("_class");
    const auto* groups = attr ? std::get_if<std::vector<std::string>>(attr) : nullptr;
    if (attr && !groups) throw invalid_argument("its attr '_class' is not a list of strings");
    if (!groups || options_.prefix.empty()) return;
    std::vector<std::string> moved;
    for (const std::string& group : *groups) {
      bool is_location = group.starts_with(kColocationPrefix);
      moved.push_back(is_location ? std::string(kColocationPrefix) +
                                        prefixed(group.substr(kColocationPrefix.size()))
                                  : group);
    }
    attrs.set("_class", std::move(moved));
  }

  std::string prefixed(const std::string& name) const {
    return options_.prefix.empty() ? name : options_.prefix + "/" + name;
  }

  Error at_node(const Error& error, int at) const {
    const pb::NodeDef& def = def_.node(at);
    return Error(error.code(),
                 fmt::format("{} '{}': {}", def.op().substr(0, 100), def.name(), error.message()),
                 def.name());
  }

  Graph& graph_;
  const pb::GraphDef& def_;
  const ImportOptions& options_;
  int first_;
  bool done_ = false;
  int64_t outputs_ = 0;
  std::vector<Node*> made_;  // in the file's order
  std::unordered_map<std::string_view, int> index_;
  std::unordered_map<std::string, Output> replaced_;
  FillBudget budget_{kMaxFillBytes};
};

std::vector<Node*> from_graph_def(Graph& graph, std::string_view bytes,
                                  const ImportOptions& options) {
  pb::GraphDef def;
  if (!parse_quietly(bytes, def)) {
    throw invalid_argument("{} bytes that are not a GraphDef", bytes.size());
  }
  return GraphImporter(graph, def, options).run();
}

}  // namespace capstan
