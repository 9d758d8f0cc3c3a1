#pragma once

// Graphs as TensorFlow's GraphDef bytes, out and in. Input bytes are never trusted.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace capstan {

// Serialised GraphDef of all nodes, or of those with id >= from. Attrs equal to the row's default
// are written too, as TensorFlow does. add_shapes adds _output_shapes.
std::string to_graph_def(const Graph& graph, int from = 0, bool add_shapes = false);

struct ImportOptions {
  std::string prefix;                       // scope put before every name
  std::map<std::string, Output> input_map;  // "name:0" in the GraphDef -> value to use instead
  bool trusted_order = false;               // nodes come in topological order (our own pieces)
  bool extends = false;                     // inputs may also name nodes that the graph has already
};
// Adds the nodes, all or none; returns them in the file's order. Throws an Error that names the
// node: Unimplemented for an unknown op, InvalidArgument for a bad attr, a missing input, a cycle,
// a name that is taken, ResourceExhausted for more memory than such bytes should need.
std::vector<Node*> from_graph_def(Graph& graph, std::string_view bytes,
                                  const ImportOptions& options = {});

// A TensorProto, serialised, and back (with all size checks).
std::string to_tensor_proto(const Tensor& tensor);
Tensor from_tensor_proto(std::string_view bytes);

}  // namespace capstan
