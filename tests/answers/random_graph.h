#pragma once

// Small graphs of rows drawn from a seed. Rows, and the inputs that they take, come from the
// catalog and its samples, so a new row takes part by having a sample.

#include <memory>
#include <vector>

#include "answers/dice.h"
#include "answers/question.h"
#include "graph/op_def.h"

namespace capstan {

struct GraphSizes {
  int nodes = 10;
  int64_t largest = 4096;  // elements of a value
  int64_t source = 24;     // elements of a source, about
};

// With values whose loops are shared between threads.
constexpr GraphSizes kLargeGraphs{.nodes = 8, .largest = 400'000, .source = 200'000};

std::unique_ptr<Question> random_graph(uint64_t seed, const GraphSizes& sizes = {});

// Rows that answer by their inputs alone, and have a sample.
std::vector<const OpDef*> pure_rows();

}  // namespace capstan
