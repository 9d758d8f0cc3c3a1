#pragma once

// What some outputs need of a written graph, ready to run in one process: nothing else is looked
// at, devices are forgotten, and variables become constants with their values out of a bundle.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "graph/graph.h"
#include "proto/meta_graph.pb.h"

namespace capstan {

// A tensor that is fed. What is not known of it follows from its node.
struct FrozenInput {
  std::string tensor;  // "x:0" or "x"
  DType dtype = DType::kInvalid;
  Shape shape = Shape::unknown();
};

struct FreezeRequest {
  std::vector<FrozenInput> inputs;
  bool other_placeholders = false;  // those that the outputs need besides become inputs too
  std::vector<std::string> outputs;
  std::map<std::string, double> constants;  // inputs that always have this value, in every element
};

struct FrozenGraph {
  std::unique_ptr<Graph> graph;
  std::vector<std::string> input_tensors;  // "x:0"
  std::vector<Output> inputs, outputs;
  std::vector<std::string> variables;  // names in the graph of those that were restored
};

// `bundle` is the prefix of the variables' values; it is opened if an output needs one. Throws
// NotFound for a tensor (with the nearest) or a variable's value that is not there, InvalidArgument
// for a placeholder that is needed and not given, a queue that nobody fills, a value of another
// type or shape than its variable; Unimplemented with all ops that are not known.
FrozenGraph freeze_graph(const pb::MetaGraphDef& meta, const Catalog& catalog, Files& files,
                         const std::string& bundle, const FreezeRequest& request);

}  // namespace capstan
