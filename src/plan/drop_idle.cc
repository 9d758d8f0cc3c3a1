// Leaves out computations that others only wait for. Gradients come in tuples that wait for each
// other, so a program that trains one layer of a chain would form the gradient of its batch too,
// for nobody. Whoever waited for such a node waits for what it would have waited for.

#include <algorithm>

#include "plan/step_graph.h"

namespace capstan {
namespace {

// Without an effect that somebody could see, be it only an error: a reference may be uninitialised.
bool idle_if_unused(const StepNode& n) {
  if (n.kind != StepNode::Kind::kOp || n.inputs.empty() || n.node->outputs() == 0) return false;
  const OpDef& def = n.node->def();
  if (def.stateful || def.writes || def.blocking) return false;
  for (int i = 0; i < int(n.inputs.size()); ++i) {
    if (n.node->input_is_ref(i)) return false;
  }
  return true;
}

// What has a time in the step at which it is done.
bool can_be_waited_for(const StepNode& n) {
  return n.kind != StepNode::Kind::kFeed && !is_declaration(*n.node);
}

class IdleNodes {
 public:
  explicit IdleNodes(StepGraph& step)
      : step_(step), order_(step.order()), uses_(step.nodes.size()), idle_(step.nodes.size()) {}

  void drop() {
    count_uses();
    find();
    for (int i : order_) redirect(i);
    step_.sweep();
  }

 private:
  void count_uses() {
    for (const StepNode& n : step_.nodes) {
      for (const StepEdge& e : n.inputs) ++uses_[size_t(e.from)];
    }
    for (const StepEdge& e : step_.fetches) ++uses_[size_t(e.from)];
    for (int target : step_.targets) ++uses_[size_t(target)];
  }

  // Users first, so that a node is looked at when all that could use it is known.
  void find() {
    for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
      const StepNode& n = step_.nodes[size_t(*i)];
      if (uses_[size_t(*i)] || !idle_if_unused(n)) continue;
      idle_[size_t(*i)] = true;
      for (const StepEdge& e : n.inputs) --uses_[size_t(e.from)];
    }
  }

  // The controls of an idle node become all that stands in for it.
  void redirect(int i) {
    StepNode& n = step_.nodes[size_t(i)];
    std::vector<int> controls;
    for (int c : n.controls) wait_for(c, controls);
    if (idle_[size_t(i)]) {
      for (const StepEdge& e : n.inputs) wait_for(e.from, controls);
    }
    std::sort(controls.begin(), controls.end());
    controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
    n.controls = std::move(controls);
  }

  void wait_for(int i, std::vector<int>& controls) const {
    const StepNode& n = step_.nodes[size_t(i)];
    if (idle_[size_t(i)]) {
      controls.insert(controls.end(), n.controls.begin(), n.controls.end());
    } else if (can_be_waited_for(n)) {
      controls.push_back(i);
    }
  }

  StepGraph& step_;
  std::vector<int> order_;
  std::vector<int> uses_;
  std::vector<bool> idle_;
};

}  // namespace

void drop_idle(StepGraph& step) { IdleNodes(step).drop(); }

}  // namespace capstan
