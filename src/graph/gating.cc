#include "graph/gating.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace capstan {
namespace {

Node& no_op_after(Graph& graph, std::vector<Node*> nodes, std::string_view name) {
  ScopeGuard controls = graph.control_dependencies(std::move(nodes));
  return graph.add_node("NoOp", {}, {}, name);
}

Node& no_op_on(Graph& graph, const std::string& device, const std::vector<Node*>& nodes,
               std::string_view name) {
  ScopeGuard controls = graph.control_dependencies(nodes);
  ScopeGuard placed = graph.device(device);
  return graph.add_node("NoOp", {}, {}, name);
}

}  // namespace

Node& group(Graph& graph, std::span<Node* const> nodes, std::string_view name) {
  ScopeGuard scope = graph.name_scope(name);
  std::string scope_name = graph.current_scope() + "/";
  if (nodes.empty()) return graph.add_node("NoOp", {}, {}, scope_name);
  std::map<std::string, std::vector<Node*>> by_device;
  for (Node* node : nodes) by_device[node->device()].push_back(node);
  if (by_device.size() == 1) {
    return no_op_on(graph, by_device.begin()->first, by_device.begin()->second, scope_name);
  }
  std::vector<Node*> gates;
  for (const auto& [device, there] : by_device)
    gates.push_back(&no_op_on(graph, device, there, "NoOp"));
  return no_op_after(graph, std::move(gates), scope_name);
}

Output with_dependencies(Graph& graph, std::span<Node* const> before, Output value,
                         std::string_view name) {
  ScopeGuard scope = graph.name_scope(name);
  std::string scope_name = graph.current_scope() + "/";
  ScopeGuard colocated = graph.colocate_with(value.node);
  ScopeGuard controls = graph.control_dependencies({before.begin(), before.end()});
  return graph.add(value.is_ref() ? "RefIdentity" : "Identity", {value}, {}, scope_name);
}

std::vector<Output> tuple(Graph& graph, std::span<const Output> values,
                          std::span<Node* const> after, std::string_view name) {
  ScopeGuard scope = graph.name_scope(name);
  std::vector<Node*> gating(after.begin(), after.end());
  for (const Output& value : values) {
    if (value) gating.push_back(value.node);
  }
  if (gating.empty()) throw invalid_argument("a tuple needs at least one value");
  std::sort(gating.begin(), gating.end(), [](Node* a, Node* b) { return a->id() < b->id(); });
  gating.erase(std::unique(gating.begin(), gating.end()), gating.end());
  Node* gate = &group(graph, gating);
  std::vector<Output> tied;
  for (const Output& value : values) {
    tied.push_back(value ? with_dependencies(graph, {&gate, 1}, value) : Output());
  }
  return tied;
}

}  // namespace capstan
