#pragma once

// All ops that a graph may hold. Built by src/ops and handed to a Graph as a const reference.

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/op_def.h"
#include "tensor/tensor.h"

namespace capstan {

class Catalog {
 public:
  // Runs the kernel of a node that has no state, on one thread.
  using Run = std::vector<Tensor> (*)(const Node&, std::vector<Tensor> inputs);

  // Rows must outlive the catalog; a name that appears twice is a bug of ours. `run` is how the
  // kernels, of which this room knows nothing, find values while a graph is built.
  explicit Catalog(std::span<const OpDef* const> rows, Run run = nullptr);

  const OpDef* find(std::string_view name) const;
  // Throws Unimplemented with the nearest names when there is no such op.
  const OpDef& get(std::string_view name) const;
  std::span<const OpDef* const> all() const { return rows_; }
  // Throws Unimplemented without such a `run`.
  std::vector<Tensor> run(const Node& node, std::vector<Tensor> inputs) const;
  // Up to `count` known names closest in spelling, best first.
  std::vector<std::string_view> nearest(std::string_view name, size_t count = 3) const;

 private:
  std::vector<const OpDef*> rows_;
  Run run_;
  std::unordered_map<std::string_view, const OpDef*> by_name_;
};

}  // namespace capstan
