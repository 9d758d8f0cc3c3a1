#pragma once

// Reads the samples of a row: inputs and attrs for the derived checks and micro-benchmarks.

#include <string_view>
#include <vector>

#include "graph/attr.h"
#include "graph/op_def.h"
#include "tensor/tensor.h"

namespace capstan {

struct Sample {
  std::vector<Tensor> inputs;
  AttrMap attrs;
};

// `text` as OpDef::samples says. Numbers not given are drawn from a fixed seed. Inputs written as
// float become elements of type `reals`, so that finite differences can be taken in double
// precision. Throws InvalidArgument naming the word that cannot be read.
Sample parse_sample(const OpDef& def, std::string_view text, DType reals = DType::kFloat);

}  // namespace capstan
