#pragma once

// Summary ops, named and tagged as tf.summary names and tags them.

#include <span>
#include <string_view>

#include "graph/graph.h"

namespace capstan {

// tf.summary.scalar: the tag is the node's name, with its scopes.
Output scalar_summary(Graph& graph, std::string_view name, Output value);
Output histogram_summary(Graph& graph, std::string_view name, Output values);
// 0.x spelling: the tag is given, the node is called after its op.
Output scalar_summary_tagged(Graph& graph, std::string_view tag, Output value);
Output histogram_summary_tagged(Graph& graph, std::string_view tag, Output values);
Output merge_summaries(Graph& graph, std::span<const Output> summaries,
                       std::string_view name = "Merge");

}  // namespace capstan
