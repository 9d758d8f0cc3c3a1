#pragma once

// Runs the nodes of a graph one by one, each by itself through run_kernel(): what the derived
// checks and the tests of the executor hold other ways of running against.

#include <map>
#include <memory>
#include <vector>

#include "base/isa.h"
#include "base/memory_files.h"
#include "graph/graph.h"
#include "kernel/context.h"

namespace capstan {

// Every node runs once, when its value is first asked for.
class Interpreter {
 public:
  void feed(Output value, Tensor tensor) { values_[value.node->id()] = {std::move(tensor)}; }

  const Tensor& value(Output wanted) { return outputs(*wanted.node)[size_t(wanted.index)]; }

  const std::vector<Tensor>& outputs(Node& node) {
    if (!values_.contains(node.id())) run(node);
    return values_.at(node.id());
  }

  // The variable behind a node with a reference output, set to this value.
  void set_variable(Node& node, const Tensor& tensor) {
    auto variable = std::make_shared<Variable>(node.name(), tensor.dtype());
    variable->adopt(tensor.clone());
    variables_[node.id()] = variable;
    values_[node.id()] = {tensor};
  }

 private:
  void run(Node& node) {
    std::vector<KernelInput> inputs;
    for (const Output& in : node.inputs()) {
      auto variable = variables_.find(in.node->id());
      inputs.push_back({value(in), variable == variables_.end() ? nullptr : variable->second});
    }
    RunContext run{&task_, &session_, &cancellation_};
    values_[node.id()] = run_kernel(node, std::move(inputs), run);
  }

  MemoryFiles files_;
  TaskState task_{"/job:localhost/task:0", 1, files_, best_isa()};
  SessionState session_;
  Cancellation cancellation_;
  std::map<int, std::vector<Tensor>> values_;
  std::map<int, std::shared_ptr<Variable>> variables_;
};

}  // namespace capstan
