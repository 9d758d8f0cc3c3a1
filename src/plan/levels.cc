// A node's level says when in the exchange with the conductor it runs: even levels are the
// conductor's own, odd ones belong to the other tasks, and everything that crosses goes through the
// conductor. (task, level) is then a segment that can run once all its inputs are there, and the
// number of odd levels of a task is the number of round trips that the step costs it.

#include <algorithm>
#include <climits>

#include "plan/step_graph.h"

namespace capstan {
namespace {

int level_after(const StepNode& before, const StepNode& node) {
  if (before.task == node.task) return before.level;
  bool both_remote = before.task != 0 && node.task != 0;
  return before.level + (both_remote ? 2 : 1);
}

bool has_effect(const StepNode& n) {
  return n.kind == StepNode::Kind::kOp &&
         (n.node->def().stateful || n.node->def().writes || n.node->def().blocking);
}

}  // namespace

void assign_levels(StepGraph& step) {
  std::vector<int> order = step.order();
  std::vector<std::vector<int>> users(step.nodes.size());
  for (int i : order) {
    StepNode& n = step.nodes[size_t(i)];
    n.level = n.task == 0 ? 0 : 1;
    auto follow = [&](int from) {
      users[size_t(from)].push_back(i);
      const StepNode& before = step.nodes[size_t(from)];
      bool everywhere = before.kind == StepNode::Kind::kOp && is_declaration(*before.node);
      if (!everywhere) n.level = std::max(n.level, level_after(before, n));
    };
    for (const StepEdge& e : n.inputs) follow(e.from);
    for (int c : n.controls) follow(c);
  }
  // What only serves a later visit to its own task waits for that visit, instead of travelling to
  // the conductor and back; the conductor's own work comes together in as few parts as can be.
  std::vector<char> fetched(step.nodes.size(), 0);
  for (const StepEdge& e : step.fetches) fetched[size_t(e.from)] = 1;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    StepNode& n = step.nodes[size_t(*it)];
    if (n.kind == StepNode::Kind::kFeed || fetched[size_t(*it)] || has_effect(n)) continue;
    int earliest = INT_MAX;
    for (int user : users[size_t(*it)]) {
      const StepNode& u = step.nodes[size_t(user)];
      earliest = std::min(earliest, u.task == n.task ? u.level : n.level);
    }
    if (earliest != INT_MAX && earliest > n.level) n.level = earliest;
  }
}

}  // namespace capstan
