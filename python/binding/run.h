#pragma once

// One Session.run: the fetches of any nesting flattened, the feeds converted, the results put back
// into the shape that was asked for.

#include <nanobind/nanobind.h>

#include <vector>

#include "convert.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace capstan {

// Lists, tuples, named tuples and dicts of tensors, operations, variables and names.
class Fetches {
 public:
  // `graph` resolves names and variables. Throws TypeError or ValueError naming what cannot be
  // fetched.
  Fetches(nb::handle graph, nb::handle fetches);

  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<Node*>& targets() const { return targets_; }
  // The results in the form of the fetches; values in the order of outputs().
  nb::object build(const std::vector<Tensor>& values, const Numpy& numpy);

 private:
  enum class Leaf : uint8_t { kTensor, kOperation, kParts };

  void flatten(nb::handle fetch);
  void flatten_leaf(nb::handle fetch);
  void flatten_items(nb::handle iterable);
  bool add_element(nb::handle element);
  nb::object build_one(nb::handle fetch);
  nb::object build_leaf();
  nb::object build_tuple(nb::handle fetch);
  nb::object build_dict(nb::handle fetch);

  nb::handle graph_, fetches_;
  Graph* engine_graph_;
  std::vector<Output> outputs_;
  std::vector<Node*> targets_;
  std::vector<Leaf> leaves_;
  std::vector<std::pair<nb::object, nb::object>>
      parts_;  // (list of parts, function of their values)

  const std::vector<Tensor>* values_ = nullptr;
  const Numpy* numpy_ = nullptr;
  size_t next_leaf_ = 0, next_value_ = 0, next_parts_ = 0;
};

struct Feeds {
  std::vector<Output> outputs;
  std::vector<Tensor> values;
};
// Throws TypeError or ValueError naming the tensor that the value does not fit.
Feeds convert_feeds(nb::handle graph, nb::handle feed_dict, const Numpy& numpy);

}  // namespace capstan
