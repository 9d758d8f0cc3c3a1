#include "plan/step_graph.h"

#include <queue>

namespace capstan {
namespace {

// The position in the program of what a step node stands for; reads and feeds come with it.
int rank_of(const StepNode& n) { return n.node ? n.node->id() : -1; }

bool hands_on_reference(const Node& node) { return node.outputs() > 0 && node.output_is_ref(0); }

}  // namespace

std::vector<int> StepGraph::order() const {
  std::vector<int> waiting(nodes.size(), 0);
  std::vector<std::vector<int>> users(nodes.size());
  auto connect = [&](int from, int to) {
    users[size_t(from)].push_back(to);
    ++waiting[size_t(to)];
  };
  size_t live = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].dead) continue;
    ++live;
    for (const StepEdge& e : nodes[i].inputs) connect(e.from, int(i));
    for (int c : nodes[i].controls) connect(c, int(i));
  }
  using Item = std::pair<int, int>;  // (place in the program, node)
  std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].dead && !waiting[i]) ready.emplace(rank_of(nodes[i]), int(i));
  }
  std::vector<int> out;
  while (!ready.empty()) {
    int i = ready.top().second;
    ready.pop();
    out.push_back(i);
    for (int user : users[size_t(i)]) {
      if (--waiting[size_t(user)] == 0) ready.emplace(rank_of(nodes[size_t(user)]), user);
    }
  }
  if (out.size() == live) return out;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].dead && waiting[i] > 0) {
      throw invalid_argument("the graph has a cycle through node '{}'", nodes[i].node->name());
    }
  }
  return out;
}

void StepGraph::sweep() {
  std::vector<char> needed(nodes.size(), 0);
  std::vector<int> stack = targets;
  for (const StepEdge& e : fetches) stack.push_back(e.from);
  while (!stack.empty()) {
    int i = stack.back();
    stack.pop_back();
    if (needed[size_t(i)]) continue;
    needed[size_t(i)] = 1;
    for (const StepEdge& e : nodes[size_t(i)].inputs) stack.push_back(e.from);
    for (int c : nodes[size_t(i)].controls) stack.push_back(c);
  }
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].dead = !needed[i];
}

bool is_declaration(const Node& node) {
  if (!node.inputs().empty() || node.outputs() != 1) return false;
  if (node.def().variable) return true;
  if (!node.control_inputs().empty()) return false;
  if (node.def().constant) {
    constexpr size_t kLargest = 64 << 10;
    return node.attrs().get<Tensor>("value").bytes() <= kLargest;
  }
  return node.output_type(0) == DType::kResource || node.output_is_ref(0);
}

Node* variable_of(Output reference) {
  while (reference.node) {
    if (reference.node->def().variable) return reference.node;
    if (!hands_on_reference(*reference.node) || reference.node->inputs().empty() ||
        !reference.node->input_is_ref(0)) {
      return nullptr;
    }
    reference = reference.node->input(0);
  }
  return nullptr;
}

std::string variable_key(const Node& variable) {
  std::string shared = variable.attrs().get_or<std::string>("shared_name", "");
  std::string container = variable.attrs().get_or<std::string>("container", "");
  return container + '\n' + (shared.empty() ? variable.name() : shared);
}

}  // namespace capstan
