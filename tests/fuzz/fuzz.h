#pragma once

// A fuzz target is one file that defines these two. Built with -DCAPSTAN_FUZZ=ON it is a libFuzzer
// program; the tests replay its seeds, every truncation of them, and flipped bits.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace capstan {

std::vector<std::string> fuzz_seeds();

}  // namespace capstan
