#include "math/philox.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace capstan {
namespace {

// The generator's published constants (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3").
constexpr uint32_t kMultiplierA = 0xD2511F53, kMultiplierB = 0xCD9E8D57;
constexpr uint32_t kWeylA = 0x9E3779B9, kWeylB = 0xBB67AE85;

constexpr double kTruncate = 2.0;
constexpr double kSmallest = 1.0e-7;  // keeps the logarithm finite

// 23 bits below one.
float to_unit(uint32_t x) { return std::bit_cast<float>(0x3f800000u | (x & 0x7fffffu)) - 1.0f; }

// 52 bits below one.
double to_unit(uint32_t high, uint32_t low) {
  const uint64_t mantissa = uint64_t(high & 0xfffffu) << 32 | low;
  return std::bit_cast<double>(0x3ff0000000000000ull | mantissa) - 1.0;
}

std::array<float, 2> box_muller(uint32_t a, uint32_t b) {
  const float u = std::max(to_unit(a), float(kSmallest));
  const auto angle = float(2.0 * std::numbers::pi * double(to_unit(b)));
  const float radius = std::sqrt(-2.0f * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

std::array<double, 2> box_muller(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const double u = std::max(to_unit(a, b), kSmallest);
  const double angle = 2.0 * std::numbers::pi * to_unit(c, d);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

// A group is what one block makes: four floats or int32s, two doubles or int64s.
template <class T>
constexpr int64_t kGroup = 16 / int64_t(sizeof(T));
template <class T>
using Group = std::array<T, size_t(kGroup<T>)>;

struct Uniform {
  static void make(const Philox::Block& b, Group<float>& out) {
    for (size_t i = 0; i < 4; ++i) out[i] = to_unit(b[i]);
  }
  static void make(const Philox::Block& b, Group<double>& out) {
    out = {to_unit(b[0], b[1]), to_unit(b[2], b[3])};
  }
};

struct Normal {
  static void make(const Philox::Block& b, Group<float>& out) {
    const auto first = box_muller(b[0], b[1]), second = box_muller(b[2], b[3]);
    out = {first[0], first[1], second[0], second[1]};
  }
  static void make(const Philox::Block& b, Group<double>& out) {
    out = box_muller(b[0], b[1], b[2], b[3]);
  }
};

struct UniformInt {
  int64_t low;
  uint64_t range;
  void make(const Philox::Block& b, Group<int32_t>& out) const {
    for (size_t i = 0; i < 4; ++i) out[i] = int32_t(uint32_t(low) + b[i] % uint32_t(range));
  }
  void make(const Philox::Block& b, Group<int64_t>& out) const {
    for (size_t i = 0; i < 2; ++i) {
      const uint64_t bits = b[2 * i] | uint64_t(b[2 * i + 1]) << 32;
      out[i] = int64_t(uint64_t(low) + bits % range);
    }
  }
};

std::array<float, 2> draw_pair(PhiloxWords& words, float) {
  const uint32_t a = words.next(), b = words.next();
  return box_muller(a, b);
}
std::array<double, 2> draw_pair(PhiloxWords& words, double) {
  const uint32_t a = words.next(), b = words.next(), c = words.next(), d = words.next();
  return box_muller(a, b, c, d);
}

// Values outside the bounds are drawn again, so a group eats a varying number of words.
template <class T>
void make_truncated(PhiloxWords words, Group<T>& out) {
  for (size_t made = 0; made < out.size();) {
    for (T value : draw_pair(words, T{})) {
      if (std::abs(value) < T(kTruncate) && made < out.size()) out[made++] = value;
    }
  }
}

// Calls fill(first group, last group) for pieces of the output.
template <class T, class Fill>
void for_pieces(int64_t size, ThreadPool& pool, const Fill& fill) {
  constexpr int64_t kPieceGroups = 4096;
  const int64_t groups = (size + kGroup<T> - 1) / kGroup<T>;
  pool.parallel_for((groups + kPieceGroups - 1) / kPieceGroups, [&](int64_t piece) {
    fill(piece * kPieceGroups, std::min(groups, (piece + 1) * kPieceGroups));
  });
}

template <class T>
void put(const Group<T>& group, int64_t index, Tensor& out) {
  const int64_t at = index * kGroup<T>;
  std::copy_n(group.begin(), std::min(kGroup<T>, out.size() - at), out.data<T>() + at);
}

template <class T, class Maker>
void fill_groups(const Philox& stream, const Maker& maker, Tensor& out, ThreadPool& pool) {
  for_pieces<T>(out.size(), pool, [&](int64_t first, int64_t last) {
    Philox mine = stream;
    mine.skip(uint64_t(first));
    Group<T> group;
    for (int64_t i = first; i < last; ++i) {
      maker.make(mine.next(), group);
      put<T>(group, i, out);
    }
  });
}

// Every group starts in a region of its own, 256 words for each element.
template <class T>
void fill_truncated(const Philox& stream, Tensor& out, ThreadPool& pool) {
  constexpr auto kRegion = uint64_t(kGroup<T>) * 256 / 4;
  for_pieces<T>(out.size(), pool, [&](int64_t first, int64_t last) {
    Group<T> group;
    for (int64_t i = first; i < last; ++i) {
      Philox mine = stream;
      mine.skip(uint64_t(i) * kRegion);
      make_truncated<T>(PhiloxWords(mine), group);
      put<T>(group, i, out);
    }
  });
}

[[noreturn]] void no_such_type(DType dtype) {
  throw unimplemented("no random values of {}", dtype_name(dtype));
}

template <class Maker>
void fill_floating(const Philox& stream, Tensor& out, ThreadPool& pool) {
  switch (out.dtype()) {
    case DType::kFloat: return fill_groups<float>(stream, Maker{}, out, pool);
    case DType::kDouble: return fill_groups<double>(stream, Maker{}, out, pool);
    default: no_such_type(out.dtype());
  }
}

}  // namespace

void Philox::skip(uint64_t blocks) {
  uint64_t low = uint64_t(counter_[1]) << 32 | counter_[0];
  low += blocks;
  counter_[0] = uint32_t(low);
  counter_[1] = uint32_t(low >> 32);
  if (low >= blocks) return;
  if (++counter_[2] == 0) ++counter_[3];
}

Philox::Block Philox::next() {
  Block block = counter_;
  std::array<uint32_t, 2> key = key_;
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(kMultiplierA) * block[0], b = uint64_t(kMultiplierB) * block[2];
    block = {uint32_t(b >> 32) ^ block[1] ^ key[0], uint32_t(b),
             uint32_t(a >> 32) ^ block[3] ^ key[1], uint32_t(a)};
    key[0] += kWeylA;
    key[1] += kWeylB;
  }
  skip(1);
  return block;
}

void fill_uniform(const Philox& stream, Tensor& out, ThreadPool& pool) {
  fill_floating<Uniform>(stream, out, pool);
}

void fill_normal(const Philox& stream, Tensor& out, ThreadPool& pool) {
  fill_floating<Normal>(stream, out, pool);
}

void fill_truncated_normal(const Philox& stream, Tensor& out, ThreadPool& pool) {
  switch (out.dtype()) {
    case DType::kFloat: return fill_truncated<float>(stream, out, pool);
    case DType::kDouble: return fill_truncated<double>(stream, out, pool);
    default: no_such_type(out.dtype());
  }
}

void fill_uniform_int(const Philox& stream, int64_t low, int64_t high, Tensor& out,
                      ThreadPool& pool) {
  const UniformInt maker{low, uint64_t(high) - uint64_t(low)};
  switch (out.dtype()) {
    case DType::kInt32: return fill_groups<int32_t>(stream, maker, out, pool);
    case DType::kInt64: return fill_groups<int64_t>(stream, maker, out, pool);
    default: no_such_type(out.dtype());
  }
}

}  // namespace capstan
