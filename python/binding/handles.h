#pragma once

// The Python faces of a graph and its elements. Each node and each output has at most one Python
// object, made when it is first asked for, so identity is equality. Graph, operations and tensors
// refer to each other; Python's collector sees these references.

#include <nanobind/nanobind.h>

#include <vector>

#include "graph/graph.h"

namespace capstan {

namespace nb = nanobind;

// Owns a reference and may be null, as the collector's "clear" demands.
using Ref = nb::object;

struct GraphHandle {
  GraphHandle(nb::object operation_type, nb::object tensor_type);

  Graph graph;
  Ref operation_type, tensor_type;  // the Python classes of the elements
  std::vector<Ref> operations;      // by node id; null until asked for
};

struct OperationHandle {
  Ref graph;
  Node* node = nullptr;
  std::vector<Ref> outputs;  // null until asked for
};

struct TensorHandle {
  Ref operation;
  Output output;
};

GraphHandle& graph_handle(nb::handle graph);

// The Python objects of elements of `graph`.
nb::object operation_object(nb::handle graph, Node& node);
nb::object tensor_object(nb::handle graph, Output output);
// None for a default Output.
nb::object tensor_or_none(nb::handle graph, Output output);
nb::list tensor_list(nb::handle graph, const std::vector<Output>& outputs);
nb::list operation_list(nb::handle graph, const std::vector<Node*>& nodes);

// The elements behind Python objects; throws TypeError naming the type of anything else.
Node& node_of(nb::handle operation);
Output output_of(nb::handle tensor);
// An Operation, or the operation of a Tensor.
Node& node_or_op_of(nb::handle element);
std::vector<Output> outputs_of(nb::handle tensors);
std::vector<Node*> nodes_of(nb::handle elements);

// "train.py:42": the innermost line of the program itself, outside the folders `ours`.
std::string program_line(const std::vector<std::string>& ours);

void bind_errors(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_elements(nb::module_& m);
void bind_catalog(nb::module_& m);
void bind_settings(nb::module_& m);

}  // namespace capstan
