#pragma once

// Draws that follow from a seed, the same on every machine.

#include <cstdint>
#include <vector>

namespace capstan {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return int64_t(next() % uint64_t(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  const auto& pick(const List& list) {
    return list.begin()[below(int64_t(list.size()))];
  }

 private:
  uint64_t state_;
};

}  // namespace capstan
