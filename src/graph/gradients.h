#pragma once

// Reverse-mode differentiation: appends TensorFlow's backward nodes, under its names, in its order.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace capstan {

// What a row's gradient function sees. New nodes land in the scope "gradients/<op>_grad".
class GradContext {
 public:
  GradContext(Graph& graph, Node& node, std::vector<Output> dys)
      : graph_(graph), node_(node), dys_(std::move(dys)) {}

  Graph& graph() { return graph_; }
  Node& node() { return node_; }
  Output x(int i) const { return node_.input(i); }
  Output y(int i) const { return node_.output(i); }
  Output dy(int i) const { return dys_[size_t(i)]; }  // a default Output where no gradient arrived
  template <class T>
  const T& attr(std::string_view name) const {
    return node_.attrs().get<T>(name);
  }
  // A node named after its op unless `name` says otherwise.
  Output op(std::string_view op, std::initializer_list<Output> inputs, AttrMap attrs = {},
            std::string_view name = {}) {
    return graph_.add(op, inputs, std::move(attrs), name);
  }
  Output constant(Tensor value, std::string_view name = "Const") {
    return graph_.constant(std::move(value), name);
  }

 private:
  Graph& graph_;
  Node& node_;
  std::vector<Output> dys_;
};

enum class Aggregation { kAddN, kTree };

struct GradientOptions {
  std::vector<Output> grad_ys;  // empty, or one per y (default Outputs mean ones)
  std::string name = "gradients";
  bool colocate_with_ops = false;
  bool gate = false;  // GATE_OP: each op's gradients are tied together
  Aggregation aggregation = Aggregation::kAddN;
  std::vector<Output> stop;
};

// d(sum of ys)/dx for each x; a default Output where y does not depend on x. Throws
// LookupError-like Unimplemented naming the op that has no gradient.
std::vector<Output> gradients(Graph& graph, std::span<const Output> ys, std::span<const Output> xs,
                              const GradientOptions& options = {});

}  // namespace capstan
