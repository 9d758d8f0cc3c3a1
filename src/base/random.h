#pragma once

// Where nonces and incarnations come from. The system's in production, a seeded one in simulations
// and tests. Not for the numbers that graphs draw: those belong to their ops.

#include <cstddef>
#include <cstdint>

namespace capstan {

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(void* out, size_t bytes) = 0;
  uint64_t u64();
};

// Unpredictable; thread-safe. Throws Unavailable when the system has no entropy to give.
class SystemRandom final : public Random {
 public:
  void fill(void* out, size_t bytes) override;
};

// The same bytes for the same seed (splitmix64). One thread at a time.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  void fill(void* out, size_t bytes) override;

 private:
  uint64_t next();
  uint64_t state_;
};

}  // namespace capstan
