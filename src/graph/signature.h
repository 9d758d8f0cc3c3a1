#pragma once

// Fits a node's inputs and attrs to its row: infers attrs, fills in defaults, says the types of the
// outputs.

#include <span>
#include <vector>

#include "graph/node.h"

namespace capstan {

struct Signature {
  std::vector<bool> input_refs, output_refs;
  std::vector<int> input_ranks;  // ArgDef::kAnyRank where any will do
  std::vector<DType> output_types;
};

// Completes `attrs`. Throws InvalidArgument that names the input or attr that does not fit; the
// caller adds the node.
Signature fit_signature(const OpDef& def, std::span<const Output> inputs, AttrMap& attrs);
// What a node with these attrs gives out, whatever its inputs are. Throws likewise.
std::vector<DType> output_types(const OpDef& def, AttrMap attrs);

// The argument that input i of a node belongs to.
const ArgDef& input_arg(const Node& node, int i);

}  // namespace capstan
