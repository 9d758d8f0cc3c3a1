#pragma once

// Which instruction sets this machine has.

#include <cstdint>
#include <string_view>
#include <vector>

namespace capstan {

// Those that vector functions are compiled for; the best one is chosen at plan time.
enum class Isa : uint8_t { kBase, kAvx2, kAvx512 };

Isa best_isa();
// "base", "avx2", "avx512"; "" for the best. Throws InvalidArgument for one that it lacks.
Isa isa_from(std::string_view name);
// All that this machine can run, from the least; for tests and benchmarks.
std::vector<Isa> machine_isas();

}  // namespace capstan
