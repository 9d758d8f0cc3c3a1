// The state of a Graph that names, places and orders new nodes.

#include <algorithm>
#include <set>

#include "graph/attr_kind.h"
#include "graph/device.h"
#include "graph/graph.h"

namespace capstan {
namespace {

constexpr std::string_view kColocationPrefix = "loc:@";

void check_scope_name(std::string_view name, bool at_root) {
  bool valid = std::all_of(name.begin(), name.end(), [](uint8_t c) {
    return std::isalnum(c) ||
           (c && std::string_view("_.\\/>-").find(char(c)) != std::string_view::npos);
  });
  // Below another scope a name may start with any of the characters.
  if (at_root) valid = valid && (std::isalnum(uint8_t(name[0])) || name[0] == '.');
  if (valid) return;
  throw invalid_argument(
      "'{}' is not a valid {}scope name: it may hold letters, digits and _ . \\ / > -{}", name,
      at_root ? "root " : "", at_root ? ", and starts with a letter, a digit or '.'" : "");
}

// The groups that nodes colocated with `node` belong to: its own, or those it has itself joined.
std::vector<std::string> colocation_groups(const Node& node) {
  std::vector<std::string> groups;
  for (const std::string& group : node.attrs().get_or("_class", std::vector<std::string>())) {
    if (group.starts_with(kColocationPrefix)) groups.push_back(group);
  }
  if (groups.empty()) groups.push_back(std::string(kColocationPrefix) + node.name());
  return groups;
}

// As Python's %, never negative.
int64_t truncated_seed(int64_t seed) {
  constexpr int64_t kMaxInt32 = (1ll << 31) - 1;
  return (seed % kMaxInt32 + kMaxInt32) % kMaxInt32;
}

}  // namespace

// --- Names ---------------------------------------------------------------------------------------

std::string Graph::name_key(std::string_view name) {
  std::string key(name);
  std::transform(key.begin(), key.end(), key.begin(), [](uint8_t c) { return std::tolower(c); });
  return key;
}

const std::string& Graph::current_scope() const {
  static const auto& root = *new std::string();  // never destroyed: threads may outlive main()
  auto found = scopes_.find(std::this_thread::get_id());
  return found == scopes_.end() ? root : found->second;
}

void Graph::set_scope(std::thread::id thread, std::string scope) {
  // Ids are used again: a thread that ends must leave nothing behind.
  if (scope.empty()) {
    scopes_.erase(thread);
  } else {
    scopes_[thread] = std::move(scope);
  }
}

std::string Graph::unique_name(std::string_view name, bool mark) {
  const std::string& scope = current_scope();
  std::string full = scope.empty() ? std::string(name) : fmt::format("{}/{}", scope, name);
  std::string base = name_key(full);
  auto used = names_in_use_.find(base);
  int number = used == names_in_use_.end() ? 0 : used->second;
  if (mark) names_in_use_[base] = number + 1;
  if (number == 0) return full;
  std::string key = base;
  while (names_in_use_.contains(key)) key = fmt::format("{}_{}", base, number++);
  if (mark) names_in_use_[key] = 1;
  return fmt::format("{}_{}", full, number - 1);
}

ScopeGuard Graph::name_scope(std::string_view name) {
  std::string outer = current_scope(), inner;
  if (!name.empty()) {
    check_scope_name(name, outer.empty());
    inner = name.ends_with('/') ? std::string(name.substr(0, name.size() - 1)) : unique_name(name);
  }
  const std::thread::id thread = std::this_thread::get_id();
  set_scope(thread, std::move(inner));
  return ScopeGuard([this, thread, outer] { set_scope(thread, outer); });
}

// --- Devices and colocation ----------------------------------------------------------------------

ScopeGuard Graph::push_device(DeviceEntry entry) {
  size_t depth = devices_.size();
  devices_.push_back(std::move(entry));
  return ScopeGuard([this, depth] { devices_.resize(std::min(depth, devices_.size())); });
}

ScopeGuard Graph::device(std::string_view device) {
  return push_device({.text = Device::parse(device).text()});
}

ScopeGuard Graph::device(DeviceFunction function) {
  if (!function) return no_device();
  return push_device({.function = std::make_shared<DeviceFunction>(std::move(function))});
}

ScopeGuard Graph::no_device() { return push_device({.clears = true}); }

// Innermost first. A function replaces what inner blocks said (it was shown that); text only adds.
void Graph::apply_devices(Node& node) {
  // A function may be the program's, in which another thread can enter or leave a block.
  const std::vector<DeviceEntry> devices = devices_;
  for (auto entry = devices.rbegin(); entry != devices.rend() && !entry->clears; ++entry) {
    if (entry->function) {
      node.device_ = (*entry->function)(node);
    } else if (node.device_.empty()) {
      node.device_ = entry->text;
    } else if (!entry->text.empty()) {
      node.device_ = Device::parse(entry->text).merged_with(Device::parse(node.device_)).text();
    }
  }
}

ScopeGuard Graph::colocate_with(Node* node, bool ignore_existing) {
  if (!node && !ignore_existing) {
    throw invalid_argument("colocation with nothing must also ignore the outer colocations");
  }
  auto outer_devices = std::exchange(devices_, {});
  auto outer = colocation_;
  if (ignore_existing) colocation_.clear();
  if (node) colocation_.push_back(node);
  return ScopeGuard([this, outer_devices = std::move(outer_devices), outer = std::move(outer)] {
    devices_ = outer_devices;
    colocation_ = outer;
  });
}

void Graph::apply_colocation(Node& node) {
  if (colocation_.empty()) return;
  std::set<std::string> groups;
  const Node* placed = nullptr;
  for (auto it = colocation_.rbegin(); it != colocation_.rend(); ++it) {
    for (std::string& group : colocation_groups(**it)) groups.insert(std::move(group));
    if (!placed && !(*it)->device().empty()) placed = *it;
  }
  if (placed) node.device_ = placed->device();
  node.attrs_.set("_class", std::vector<std::string>(groups.begin(), groups.end()));
}

// --- Control dependencies ------------------------------------------------------------------------

// The blocks that count now, outermost first: those from the last one that cleared.
std::span<Graph::Controls> Graph::active_controls() {
  auto last = std::find_if(controls_.rbegin(), controls_.rend(), [](auto& c) { return c.clears; });
  size_t first = last == controls_.rend() ? 0 : size_t(controls_.rend() - last) - 1;
  return std::span(controls_).subspan(first);
}

std::span<const Graph::Controls> Graph::active_controls() const {
  return const_cast<Graph*>(this)->active_controls();
}

ScopeGuard Graph::push_controls(Controls controls) {
  size_t depth = controls_.size();
  controls_.push_back(std::move(controls));
  return ScopeGuard([this, depth] { controls_.resize(std::min(depth, controls_.size())); });
}

ScopeGuard Graph::control_dependencies(std::vector<Node*> nodes) {
  std::unordered_set<const Node*> present;
  for (const Controls& block : active_controls()) {
    present.insert(block.nodes.begin(), block.nodes.end());
  }
  Controls controls;
  for (Node* node : nodes) {
    if (&node->graph() != this) {
      throw invalid_argument("'{}' belongs to another graph: nothing here can wait for it",
                             node->name());
    }
    if (present.insert(node).second) controls.nodes.push_back(node);
  }
  return push_controls(std::move(controls));
}

ScopeGuard Graph::clear_control_dependencies() { return push_controls({.clears = true}); }

std::vector<Node*> Graph::control_inputs_for(std::span<const Output> inputs) const {
  std::unordered_set<const Node*> input_nodes;
  for (const Output& input : inputs) input_nodes.insert(input.node);
  std::vector<Node*> result;
  for (const Controls& block : active_controls()) {
    // An input that was made within the block already waits for all that the block waits for.
    bool dominated = std::any_of(input_nodes.begin(), input_nodes.end(),
                                 [&](const Node* node) { return block.seen.contains(node); });
    if (dominated) continue;
    for (Node* node : block.nodes) {
      if (!input_nodes.contains(node)) result.push_back(node);
    }
  }
  return result;
}

// --- Attrs and seeds -----------------------------------------------------------------------------

ScopeGuard Graph::container(std::string_view name) {
  std::string outer = std::exchange(container_, std::string(name));
  return ScopeGuard([this, outer] { container_ = outer; });
}

ScopeGuard Graph::attr_scope(std::string name, Attr value) {
  size_t depth = attr_scopes_.size();
  attr_scopes_.emplace_back(std::move(name), std::move(value));
  return ScopeGuard([this, depth] { attr_scopes_.resize(std::min(depth, attr_scopes_.size())); });
}

void Graph::apply_attr_scopes(Node& node) {
  for (auto scope = attr_scopes_.rbegin(); scope != attr_scopes_.rend(); ++scope) {
    if (!node.attrs_.has(scope->first)) node.attrs_.set(scope->first, scope->second);
  }
  if (container_.empty() || !node.def().stateful || !find_attr(node.def(), "container")) return;
  if (node.attrs_.get<std::string>("container").empty()) node.attrs_.set("container", container_);
}

std::pair<int64_t, int64_t> Graph::random_seeds(std::optional<int64_t> op_seed) {
  constexpr int64_t kDefaultGraphSeed = 87654321;
  if (!seed_ && !op_seed) return {0, 0};
  int64_t first = seed_ ? truncated_seed(*seed_) : kDefaultGraphSeed;
  int64_t second = truncated_seed(op_seed ? *op_seed : ops_without_seed_++);
  // To the kernels a pair of zeros means "choose any".
  if (first == 0 && second == 0) second = (1ll << 31) - 1;
  return {first, second};
}

}  // namespace capstan
