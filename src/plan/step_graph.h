#pragma once

// The part of a graph that one step needs, as plan's passes see and rewrite it. Indices, not
// pointers: passes add nodes and redirect edges freely.

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace capstan {

struct StepEdge {
  int from = -1;  // step node
  int index = 0;  // its output
  bool operator==(const StepEdge&) const = default;
};

struct StepNode {
  enum class Kind { kOp, kFeed, kRead };
  Kind kind = Kind::kOp;
  Node* node = nullptr;  // kOp: the op; kRead: the variable that is read; kFeed: the fed node
  int feed = -1;         // kFeed: which feed
  int fed_output = 0;    // kFeed: which output of the node is fed
  int version = 0;       // kRead: how many of the step's writes to the variable it comes after
  std::vector<StepEdge> inputs;
  std::vector<int> controls;
  bool dead = false;
  int task = 0, level = 0;
};

struct StepGraph {
  std::vector<StepNode> nodes;
  std::vector<StepEdge> fetches;  // in the order of the request
  std::vector<int> targets;

  // Every live node after all that it depends on; in the order of construction where free.
  // Throws InvalidArgument naming a node on a cycle.
  std::vector<int> order() const;
  // Marks what neither fetches nor targets need as dead.
  void sweep();
};

// Nodes that declare something rather than compute (variables, queue handles, small constants):
// every segment that uses one has a copy of its own, so they never cross between tasks.
bool is_declaration(const Node& node);
// The variable that a reference output stands for, through ops that hand it on; null when the
// reference is of something else (an accumulator, say).
Node* variable_of(Output reference);
// (container, shared name): nodes with equal keys are one variable.
std::string variable_key(const Node& variable);

// The passes, in order.
StepGraph prune(const Graph& graph, const PlanRequest& request);
void drop_idle(StepGraph& step);
void resolve_reads(StepGraph& step);
void place(StepGraph& step, const Placement& placement);
void assign_levels(StepGraph& step);
Plan cut(const StepGraph& step, const Catalog& catalog);

}  // namespace capstan
