#pragma once

// A graph under construction: nodes, and the state that decides how new nodes are named and placed
// (name scopes, devices, control dependencies, colocation). Names, uniquifying and the pruning of
// control inputs are TensorFlow's to the letter.
//
//   Graph g(standard_catalog());
//   auto scope = g.name_scope("layer");
//   Output x = g.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/catalog.h"
#include "graph/node.h"

namespace capstan {

// Ends something on destruction: a scope, a device block. Movable, not copyable.
class ScopeGuard {
 public:
  ScopeGuard() = default;
  explicit ScopeGuard(std::function<void()> end) : end_(std::move(end)) {}
  ScopeGuard(ScopeGuard&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  ScopeGuard& operator=(ScopeGuard&& other) noexcept {
    close();
    end_ = std::exchange(other.end_, nullptr);
    return *this;
  }
  ~ScopeGuard() { close(); }
  void close() {
    if (auto end = std::exchange(end_, nullptr)) end();
  }

 private:
  std::function<void()> end_;
};

// Decides the device of a node that was just made: gets the node (whose device() is what inner
// blocks said so far), returns the device to record.
using DeviceFunction = std::function<std::string(const Node&)>;

// Not thread-safe: one thread at a time; Python holds the GIL, sessions copy what they need.
// Threads that take turns have a name scope each; the other blocks are the graph's, and seen by
// all of them, as in TensorFlow.
class Graph {
 public:
  explicit Graph(const Catalog& catalog);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  const Catalog& catalog() const { return catalog_; }

  // --- Adding nodes -----------------------------------------------------------------------------

  // Adds an op under the current scopes. List arguments ("N*T") are passed flat, in order; N and
  // the type attrs are inferred where they can be. `name` defaults to the op's; a name that ends in
  // "/" is taken as it is. Throws InvalidArgument naming the node and its location for inputs that
  // do not fit, Unimplemented for an unknown op, FailedPrecondition once finalized.
  Node& add_node(std::string_view op, std::span<const Output> inputs, AttrMap attrs = {},
                 std::string_view name = {});
  // The same, for ops with one output.
  Output add(std::string_view op, std::initializer_list<Output> inputs, AttrMap attrs = {},
             std::string_view name = {});
  Output add(std::string_view op, std::span<const Output> inputs, AttrMap attrs = {},
             std::string_view name = {});
  // A Const node.
  Output constant(Tensor value, std::string_view name = "Const");

  // Adds a node exactly as given, without scopes: for GraphDefs and pieces of plans. Ids of inputs
  // refer to nodes already there.
  Node& import_node(std::string_view op, std::string name, std::vector<Output> inputs,
                    std::vector<Node*> control_inputs, AttrMap attrs, std::string device);

  void add_control_input(Node& node, Node& before);
  // Merges what is known of an output's shape; throws InvalidArgument when they clash.
  void set_shape(Output value, const Shape& shape);
  void set_attr(Node& node, std::string name, Attr value);
  void set_device(Node& node, std::string device);

  // --- Looking at them --------------------------------------------------------------------------

  int size() const { return int(nodes_.size()); }
  Node& node(int id) const { return *nodes_[size_t(id)]; }
  Node* find(std::string_view name) const;
  // "scope/node:1" or "scope/node"; throws NotFound (as TensorFlow's KeyError text) otherwise.
  Output output(std::string_view name) const;
  // Increases with every change that a session must see.
  uint64_t version() const { return version_; }

  // --- Names and scopes -------------------------------------------------------------------------

  // "" or "a/b" without the trailing slash; of the calling thread.
  const std::string& current_scope() const;
  // Enters `name` below the current scope, made unique. "" resets to the root; a name that ends in
  // "/" is entered as it is (re-entering). After the call current_scope() is the new scope.
  [[nodiscard]] ScopeGuard name_scope(std::string_view name);
  // A name not yet used, below the current scope. Reserves it unless `mark` is false.
  std::string unique_name(std::string_view name, bool mark = true);

  // --- Placement and order ----------------------------------------------------------------------

  // Merged with what inner blocks say, which wins field by field. Empty: no constraint; nullptr
  // function: forget all outer blocks (tf.device(None)).
  [[nodiscard]] ScopeGuard device(std::string_view device);
  [[nodiscard]] ScopeGuard device(DeviceFunction function);
  [[nodiscard]] ScopeGuard no_device();
  // tf.colocate_with: new nodes carry _class "loc:@<name>" and take the device of `node`.
  // ignore_existing clears the outer colocations for the block; a null node only clears.
  [[nodiscard]] ScopeGuard colocate_with(Node* node, bool ignore_existing = false);
  // Nodes made within run after these. An empty list adds nothing; clear_control_dependencies()
  // is tf.control_dependencies(None): it also leaves name-independent state (as TensorFlow does).
  [[nodiscard]] ScopeGuard control_dependencies(std::vector<Node*> nodes);
  [[nodiscard]] ScopeGuard clear_control_dependencies();
  // Nodes made by an op's control dependencies that apply right now to a node with these inputs.
  std::vector<Node*> control_inputs_for(std::span<const Output> inputs) const;
  // tf.container(): recorded on stateful nodes with a "container" attr.
  [[nodiscard]] ScopeGuard container(std::string_view name);
  // Attrs that every node made within carries (graph._attr_scope).
  [[nodiscard]] ScopeGuard attr_scope(std::string name, Attr value);

  // --- The rest of a graph's state --------------------------------------------------------------

  // Graph-level seed (tf.set_random_seed); see random_seeds().
  void set_seed(std::optional<int64_t> seed) { seed_ = seed; }
  std::optional<int64_t> seed() const { return seed_; }
  // TensorFlow's pair (seed, seed2) for an op with this op-level seed. With a graph seed and no op
  // seed, the second counts the ops that asked like this before.
  std::pair<int64_t, int64_t> random_seeds(std::optional<int64_t> op_seed);

  // True the first time that this graph is asked with this key: for nodes that TensorFlow makes
  // once per graph and remembers.
  bool first_time(std::string key) { return made_once_.insert(std::move(key)).second; }

  void finalize() { finalized_ = true; }
  void unfinalize() { finalized_ = false; }
  bool finalized() const { return finalized_; }

  // Called for each new node to learn where the program stands ("train.py:42"); may be empty.
  void set_locator(std::function<std::string()> locator) { locator_ = std::move(locator); }

 private:
  struct Controls {
    std::vector<Node*> nodes;
    std::unordered_set<const Node*> seen;  // made within this block
    bool clears = false;
  };
  struct DeviceEntry {
    std::string text;
    std::shared_ptr<DeviceFunction> function;  // one, whoever copies the entry: it may count
    bool clears = false;
  };

  std::unique_ptr<Node> new_node(std::string_view op, std::span<const Output> inputs,
                                 AttrMap attrs);
  void infer(Node& node);
  void check_inputs(const Node& node) const;
  void check_not_finalized() const;
  Node& insert(std::unique_ptr<Node> node);
  friend class GraphImporter;
  // Takes back the nodes with id >= first, which nobody has seen yet.
  void forget_from(int first);
  Error unknown_op(std::string_view op, const std::string& location) const;

  static std::string name_key(std::string_view name);
  void set_scope(std::thread::id thread, std::string scope);
  ScopeGuard push_device(DeviceEntry entry);
  ScopeGuard push_controls(Controls controls);
  std::span<Controls> active_controls();
  std::span<const Controls> active_controls() const;
  void apply_devices(Node& node);
  void apply_colocation(Node& node);
  void apply_attr_scopes(Node& node);

  const Catalog& catalog_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string, Node*> by_name_;
  std::unordered_map<std::string, int> names_in_use_;        // lower-cased, as TensorFlow counts
  std::unordered_map<std::thread::id, std::string> scopes_;  // of threads that are in one
  std::vector<DeviceEntry> devices_;
  std::vector<Controls> controls_;
  std::vector<Node*> colocation_;
  std::string container_;
  std::vector<std::pair<std::string, Attr>> attr_scopes_;
  std::optional<int64_t> seed_;
  int64_t ops_without_seed_ = 0;
  std::unordered_set<std::string> made_once_;
  std::function<std::string()> locator_;
  uint64_t version_ = 0;
  bool finalized_ = false;
};

}  // namespace capstan
