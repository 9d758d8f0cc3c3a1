#pragma once

// One row of the catalog in a graph of its own, with attrs and inputs drawn from its schema or
// from one of its samples: inside and outside of what it allows.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/choices.h"
#include "graph/graph.h"
#include "kernel/task_state.h"

namespace capstan {

struct DrawnRow {
  explicit DrawnRow(const Catalog& catalog) : graph(catalog) {}

  struct Input {
    Output from;
    Tensor value;              // invalid for handles of queues and accumulators
    bool variable = false;     // value is what the variable holds; invalid: not initialized
    bool placeholder = false;  // value is to be fed
  };

  Graph graph;
  std::vector<Input> inputs;
  Node* node = nullptr;
};

// Draws a row into `drawn`. Throws an Error where the graph refuses the node.
void draw_row(const OpDef& def, Choices& choices, DrawnRow& drawn);

}  // namespace capstan
