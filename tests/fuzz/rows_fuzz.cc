// Input: two bytes that choose a row of the catalog, then the choices that draw its attrs and
// inputs.

#include <cstdio>
#include <random>

#include "fuzz/fuzz.h"
#include "fuzz/row_check.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

constexpr size_t kSeeds = 4, kSeedBytes = 200;

}  // namespace

std::vector<std::string> fuzz_seeds() {
  std::mt19937 random(8);
  std::vector<std::string> seeds(kSeeds);
  for (std::string& seed : seeds) {
    for (size_t i = 0; i < kSeedBytes; ++i) seed += static_cast<char>(random());
  }
  return seeds;
}

}  // namespace capstan

// Sizes that a row asks for and nobody has: the allocation fails, as it does on a real machine.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto rows = capstan::standard_catalog().all();
  const capstan::OpDef& row = *rows[(data[0] << 8 | data[1]) % rows.size()];
  const std::string fault =
      capstan::check_row(row, {reinterpret_cast<const char*>(data) + 2, size - 2}).fault;
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  __builtin_trap();
}
