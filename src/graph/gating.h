#pragma once

// Nodes that only order others: TensorFlow's group, with_dependencies and tuple.

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace capstan {

// A NoOp that runs after all of `nodes`; with several devices, after one NoOp on each of them.
Node& group(Graph& graph, std::span<Node* const> nodes, std::string_view name = "group_deps");

// The same value, but not before `before` has run.
Output with_dependencies(Graph& graph, std::span<Node* const> before, Output value,
                         std::string_view name = "control_dependency");

// The same values, none before all of them (and `after`) are there. Default Outputs stay so.
std::vector<Output> tuple(Graph& graph, std::span<const Output> values,
                          std::span<Node* const> after = {}, std::string_view name = "tuple");

}  // namespace capstan
