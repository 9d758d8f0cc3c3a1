#include <unordered_map>

#include "plan/step_graph.h"

namespace capstan {
namespace {

class Pruner {
 public:
  Pruner(const Graph& graph, const PlanRequest& request) : graph_(graph) {
    for (size_t i = 0; i < request.feeds.size(); ++i) add_feed(request.feeds[i], int(i));
    for (const Output& fetch : request.fetches) {
      check(fetch.node, "fetched");
      step_.fetches.push_back(edge(fetch));
    }
    for (Node* target : request.targets) {
      check(target, "run");
      step_.targets.push_back(visit(target));
    }
    drain();
  }

  StepGraph take() { return std::move(step_); }

 private:
  void check(const Node* node, std::string_view what) const {
    if (!node) throw invalid_argument("nothing was given to be {}", what);
    if (&node->graph() != &graph_) {
      throw invalid_argument("'{}' cannot be {}: it is not an element of this session's graph",
                             node->name(), what);
    }
  }

  void add_feed(Output value, int index) {
    check(value.node, "fed");
    StepNode n;
    n.kind = StepNode::Kind::kFeed;
    n.node = value.node;
    n.feed = index;
    n.fed_output = value.index;
    feeds_[value.node][value.index] = int(step_.nodes.size());
    step_.nodes.push_back(std::move(n));
  }

  StepEdge edge(Output value) {
    if (auto fed = feeds_.find(value.node); fed != feeds_.end()) {
      if (auto it = fed->second.find(value.index); it != fed->second.end()) return {it->second, 0};
    }
    return {visit(value.node), value.index};
  }

  int visit(Node* node) {
    auto [it, fresh] = index_.try_emplace(node, int(step_.nodes.size()));
    if (fresh) {
      StepNode n;
      n.node = node;
      step_.nodes.push_back(std::move(n));
      pending_.push_back(node);
    }
    return it->second;
  }

  // Control edges from a fed placeholder are satisfied by the feed, as in TensorFlow.
  bool fed_placeholder(const Node* node) const {
    return feeds_.count(const_cast<Node*>(node)) && node->op().starts_with("Placeholder");
  }

  void drain() {
    while (!pending_.empty()) {
      Node* node = pending_.back();
      pending_.pop_back();
      std::vector<StepEdge> inputs;
      std::vector<int> controls;
      for (const Output& in : node->inputs()) inputs.push_back(edge(in));
      for (Node* c : node->control_inputs()) {
        if (!fed_placeholder(c)) controls.push_back(visit(c));
      }
      StepNode& n = step_.nodes[size_t(index_.at(node))];
      n.inputs = std::move(inputs);
      n.controls = std::move(controls);
    }
  }

  const Graph& graph_;
  StepGraph step_;
  std::unordered_map<Node*, int> index_;
  std::unordered_map<Node*, std::map<int, int>> feeds_;
  std::vector<Node*> pending_;
};

}  // namespace

StepGraph prune(const Graph& graph, const PlanRequest& request) {
  return Pruner(graph, request).take();
}

}  // namespace capstan
