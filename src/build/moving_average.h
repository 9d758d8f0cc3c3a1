#pragma once

// Averages that follow variables slowly: average += (1 - decay) * (value - average).

#include "build/variables.h"

namespace capstan {

// The decay, or less in the beginning: min(decay, (1 + updates) / (10 + updates)).
Output early_decay(Output decay, Output updates);

// Moves one average; lives with it.
Node& update_moving_average(const VariableRef& average, Output value, Output decay,
                            std::string_view name = "AssignMovingAvg");

// Averages of several variables, which start at the variables' initial values, and the op that
// moves them all.
struct MovingAverages {
  std::vector<VariableRef> averages;
  Node* update = nullptr;
};
MovingAverages moving_averages(Graph& graph, std::span<const VariableRef> variables, double decay,
                               std::string_view name = "ExponentialMovingAverage");

}  // namespace capstan
