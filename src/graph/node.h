#pragma once

// One operation of a graph and the handle on one of its outputs.

#include <string>
#include <string_view>
#include <vector>

#include "graph/attr.h"
#include "graph/op_def.h"

namespace capstan {

class Graph;
class Node;

// A value in a graph: output `index` of `node`. Default-constructed: no value.
struct Output {
  Node* node = nullptr;
  int index = 0;

  explicit operator bool() const { return node != nullptr; }
  bool operator==(const Output&) const = default;
  DType dtype() const;
  const Shape& shape() const;
  bool is_ref() const;
  Graph& graph() const;
  std::string name() const;  // "scope/node:0"
};

// Owned by its Graph, at a fixed address. After construction only the shapes (which may become more
// precise), the device, private attrs and control inputs change; Graph's methods do that.
class Node {
 public:
  int id() const { return id_; }  // position in the graph: order of construction
  const std::string& name() const { return name_; }
  const OpDef& def() const { return *def_; }
  std::string_view op() const { return def_->name; }
  Graph& graph() const { return *graph_; }

  const std::vector<Output>& inputs() const { return inputs_; }
  const Output& input(int i) const { return inputs_[size_t(i)]; }
  const std::vector<Node*>& control_inputs() const { return control_inputs_; }

  int outputs() const { return int(output_types_.size()); }
  Output output(int i) { return {this, i}; }
  DType output_type(int i) const { return output_types_[size_t(i)]; }
  bool output_is_ref(int i) const { return output_refs_[size_t(i)]; }
  const Shape& output_shape(int i) const { return output_shapes_[size_t(i)]; }
  // True when the op takes input i by reference (it is then the output of a variable, or of an op
  // that hands on its reference).
  bool input_is_ref(int i) const { return input_refs_[size_t(i)]; }
  // The rank that the op asks of input i, or ArgDef::kAnyRank.
  int input_rank(int i) const { return input_ranks_[size_t(i)]; }

  const AttrMap& attrs() const { return attrs_; }
  const std::string& device() const { return device_; }  // as requested; "" when it was not
  // Where the program made it: "train.py:42", or empty.
  const std::string& location() const { return location_; }

 private:
  friend class Graph;
  int id_ = 0;
  Graph* graph_ = nullptr;
  const OpDef* def_ = nullptr;
  std::string name_, device_, location_;
  AttrMap attrs_;
  std::vector<Output> inputs_;
  std::vector<bool> input_refs_;
  std::vector<int> input_ranks_;
  std::vector<Node*> control_inputs_;
  std::vector<DType> output_types_;
  std::vector<bool> output_refs_;
  std::vector<Shape> output_shapes_;
};

inline DType Output::dtype() const { return node->output_type(index); }
inline const Shape& Output::shape() const { return node->output_shape(index); }
inline bool Output::is_ref() const { return node->output_is_ref(index); }
inline Graph& Output::graph() const { return node->graph(); }

}  // namespace capstan
