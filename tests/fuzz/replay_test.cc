#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fuzz/fuzz.h"

namespace capstan {
namespace {

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

// At most so many positions of a seed, spread evenly.
constexpr size_t kPositions = 2000;

size_t stride(size_t positions) { return std::max<size_t>(1, positions / kPositions); }

TEST(Replay, SeedsAndTheirTruncationsDoNoHarm) {
  for (const std::string& seed : fuzz_seeds()) {
    for (size_t size = 0; size < seed.size(); size += stride(seed.size()))
      run(seed.substr(0, size));
    run(seed);
  }
}

TEST(Replay, FlippedBitsDoNoHarm) {
  for (const std::string& seed : fuzz_seeds()) {
    size_t bits = seed.size() * 8;
    for (size_t bit = 0; bit < bits; bit += stride(bits)) {
      std::string damaged = seed;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      run(damaged);
    }
  }
}

TEST(Replay, OverwrittenPiecesDoNoHarm) {
  std::mt19937 random(1);
  for (const std::string& seed : fuzz_seeds()) {
    for (int round = 0; round < 500 && !seed.empty(); ++round) {
      std::string damaged = seed;
      size_t at = random() % damaged.size();
      size_t size = std::min<size_t>(1 + random() % 9, damaged.size() - at);
      bool ones = random() % 2;
      for (size_t i = 0; i < size; ++i)
        damaged[at + i] = ones ? '\xff' : static_cast<char>(random());
      run(damaged);
    }
  }
}

}  // namespace
}  // namespace capstan
