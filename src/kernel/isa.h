#pragma once

// Which instruction sets this machine has.

#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace capstan {

Isa best_isa();
// "base", "avx2", "avx512"; "" for the best. Throws InvalidArgument for one that it lacks.
Isa isa_from(std::string_view name);
// All that this machine can run, from the least; for tests and benchmarks.
std::vector<Isa> machine_isas();

}  // namespace capstan
