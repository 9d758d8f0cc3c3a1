#pragma once

// Random numbers that equal TensorFlow's for equal seeds: the counter-based generator Philox
// 4x32-10 and the ways in which TensorFlow makes uniform, normal and truncated normal values out of
// it. Element i of an output follows from (seeds, blocks skipped, i) alone, never from the cut of
// work.

#include <array>
#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace capstan {

// A stream of blocks of four 32-bit words. Copies go on independently.
class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  Philox(uint64_t seed, uint64_t seed2)
      : key_{uint32_t(seed), uint32_t(seed >> 32)},
        counter_{0, 0, uint32_t(seed2), uint32_t(seed2 >> 32)} {}

  void skip(uint64_t blocks);
  Block next();

 private:
  std::array<uint32_t, 2> key_;
  Block counter_;
};

// How many blocks TensorFlow reserves for one run that makes this many elements.
constexpr uint64_t reserved_blocks(int64_t elements) { return uint64_t(elements) * 256; }

// Each fills `out` from the start of `stream`, in parallel. float and double.
void fill_uniform(const Philox& stream, Tensor& out, ThreadPool& pool);  // [0, 1)
void fill_normal(const Philox& stream, Tensor& out, ThreadPool& pool);
void fill_truncated_normal(const Philox& stream, Tensor& out, ThreadPool& pool);  // within (-2, 2)
// int32 and int64, in [low, high); the caller has seen to low < high.
void fill_uniform_int(const Philox& stream, int64_t low, int64_t high, Tensor& out,
                      ThreadPool& pool);

// The words of a stream one by one.
class PhiloxWords {
 public:
  explicit PhiloxWords(Philox stream) : stream_(stream) {}
  uint32_t next() {
    if (used_ == 4) {
      block_ = stream_.next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox stream_;
  Philox::Block block_{};
  size_t used_ = 4;
};

}  // namespace capstan
