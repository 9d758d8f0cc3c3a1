#pragma once

// Samples of rows made into questions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answers/question.h"
#include "ops/sample.h"

namespace capstan {

// An input of a sample, and what else it could be.
struct SampleInput {
  Tensor value;
  bool free = false;           // no values or bounds are given: any elements will do
  std::string_view type_attr;  // inputs under one attr have one type; "" where the row fixes it
};
std::vector<SampleInput> sample_inputs(const OpDef& row, std::string_view sample);

// The sample with the last dimension above one of its first free input grown until this has many
// elements, and other free inputs with it; nothing where there is no such input.
std::optional<std::string> grown(std::string_view sample, int64_t elements);

// Asks for what the row gives on the sample; all that it takes comes from `origin`, and passes
// `detour` before and after.
void ask(Question& question, const OpDef& row, const Sample& sample, Origin origin, Detour detour);

}  // namespace capstan
