#pragma once

// Looks things up in a GraphDef that is not imported yet.

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/catalog.h"
#include "io/bundle.h"
#include "proto/meta_graph.pb.h"

namespace capstan {

// "node:1", taken apart.
struct TensorName {
  std::string node;
  int index = 0;

  std::string text() const { return node + ":" + std::to_string(index); }
  auto operator<=>(const TensorName&) const = default;
};
// "node" is "node:0". Throws InvalidArgument.
TensorName parse_tensor_name(std::string_view text);

// The graph outlives it.
class WrittenGraph {
 public:
  // Throws InvalidArgument for two nodes of one name.
  explicit WrittenGraph(const pb::GraphDef& def);

  const pb::GraphDef& def() const { return def_; }
  const pb::NodeDef* find(const std::string& name) const;
  // Throws NotFound with the nearest name; `what` says who asks.
  const pb::NodeDef& get(const std::string& name, std::string_view what) const;
  // Through nodes that only hand on their first input.
  const pb::NodeDef* origin(std::string_view input, TensorName& at) const;

 private:
  const pb::GraphDef& def_;
  std::unordered_map<std::string_view, const pb::NodeDef*> by_name_;
};

// Where a saver of this graph has put a variable: the key in the bundle, and the part of it.
struct SavedAs {
  std::string key, slice;
};
// By the name of the variable's node; those that the saver does not restore are not in it.
std::unordered_map<std::string, SavedAs> saved_names(const WrittenGraph& graph,
                                                     const pb::SaverDef& saver);
// The value of a variable's node. Throws InvalidArgument where it does not fit the node's type or
// shape, and what the reader throws, with the variable's name.
Tensor saved_value(const BundleReader& reader, const pb::NodeDef& variable, const SavedAs& as);

// Throws where some of the nodes cannot run by themselves: Unimplemented with all ops that the
// catalog lacks, InvalidArgument for those that wait for somebody or change variables.
void check_runnable(std::span<const pb::NodeDef* const> nodes, const Catalog& catalog);

}  // namespace capstan
