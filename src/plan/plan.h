#pragma once

// Graph in, plan out: prune, place each node on a task, decide which value of a variable each
// reader sees, and cut into segments. A segment is a piece of graph on one task that runs without
// waiting for another task; the conductor (task 0) calls each remote one with one message.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace capstan {

// Where a value comes from within a step: a feed (segment < 0) or an output of a segment.
struct Source {
  int segment = -1;
  int index = 0;
  bool operator==(const Source&) const = default;
};

// A piece: a graph of its own whose "_Arg" nodes stand for what comes in. Self-contained, so that
// it can be shipped as a GraphDef.
struct Piece {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;      // "_Arg" nodes, in the order of the inputs
  std::vector<Output> outputs;  // values that leave the piece
};

struct Segment {
  int task = 0;  // index into Placement::tasks; 0 is the conductor
  Piece piece;
  std::vector<Source> inputs;  // one per argument of the piece
  std::vector<int> after;      // segments that must have ended before; includes those of the inputs
  bool blocking = false;       // holds an op that may wait
};

struct Plan {
  std::vector<Segment> segments;  // each after all that it depends on
  std::vector<Source> fetches;
};

// The tasks that a session may use. tasks[0] conducts and gets every node without a constraint.
struct Placement {
  std::vector<std::string> tasks = {"/job:localhost/replica:0/task:0"};
};

struct PlanRequest {
  std::vector<Output> feeds, fetches;
  std::vector<Node*> targets;
};

// Throws InvalidArgument naming the node: an unfed placeholder's use is found at run time by its
// kernel, a device that is not in the placement, a value fed and fetched of another graph.
Plan make_plan(const Graph& graph, const PlanRequest& request, const Placement& placement);

}  // namespace capstan
