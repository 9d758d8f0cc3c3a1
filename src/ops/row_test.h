#pragma once

// Runs single rows in tests: a graph of one op, a task with a store, and run_kernel().

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/isa.h"
#include "graph/graph.h"
#include "kernel/context.h"
#include "ops/catalog.h"

namespace capstan {

class RowTest : public testing::Test {
 protected:
  struct Arg {
    Arg(Tensor value) : value(std::move(value)) {}                              // NOLINT
    Arg(std::shared_ptr<Variable> variable) : variable(std::move(variable)) {}  // NOLINT
    Tensor value;
    std::shared_ptr<Variable> variable;
  };

  std::shared_ptr<Variable> variable(const std::string& name, const Tensor& value) {
    auto made = task.variables.get("", name, value.dtype());
    made->assign(value, *task.variable_memory);
    return made;
  }
  template <class T>
  std::shared_ptr<Variable> zeros(const std::string& name, const Shape& shape) {
    Tensor value(DTypeOf<T>::value, shape);
    std::fill_n(value.data<T>(), value.size(), T(0));
    return variable(name, value);
  }

  // A node of this op whose inputs are placeholders and variables.
  Node& node(std::string_view op, const std::vector<Arg>& args, AttrMap attrs = {},
             std::string_view name = {}) {
    std::vector<Output> inputs;
    for (const Arg& arg : args) {
      if (arg.variable) {
        inputs.push_back(graph.add(
            "VariableV2", {}, {{"dtype", arg.variable->dtype()}, {"shape", Shape::unknown()}}));
      } else if (arg.value.dtype() == DType::kResource) {
        inputs.push_back(handle_);
      } else {
        inputs.push_back(graph.add("Placeholder", {}, {{"dtype", arg.value.dtype()}}));
      }
    }
    return graph.add_node(op, inputs, std::move(attrs), name);
  }
  std::vector<Tensor> run(const Node& node, const std::vector<Arg>& args) {
    std::vector<KernelInput> inputs;
    for (const Arg& arg : args) inputs.push_back({arg.value, arg.variable});
    return run_kernel(node, std::move(inputs), context);
  }
  std::vector<Tensor> run(std::string_view op, const std::vector<Arg>& args, AttrMap attrs = {},
                          std::string_view name = {}) {
    return run(node(op, args, std::move(attrs), name), args);
  }
  // The handle that a queue or accumulator node makes; later nodes take it as their input.
  Tensor handle(std::string_view op, AttrMap attrs) {
    Node& made = graph.add_node(op, {}, std::move(attrs));
    handle_ = made.output(0);
    return run(made, {})[0];
  }

  static std::string message_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return std::string(code_name(error.code())) + ": " + error.message();
    }
    return "nothing was thrown";
  }

  Output handle_;
  Graph graph{standard_catalog()};
  TaskState task{"/job:localhost/task:0", 1, posix_files(), best_isa()};
  SessionState session;
  Cancellation cancellation;
  RunContext context{&task, &session, &cancellation};
};

}  // namespace capstan
