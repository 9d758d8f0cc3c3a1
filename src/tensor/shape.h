#pragma once

// The extent of a tensor. During graph construction a dimension (-1) or the whole rank may be
// unknown; a Tensor always has a fully defined shape. At most kMaxRank dimensions.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <fmt/core.h>

namespace capstan {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;  // scalar
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  // Throws InvalidArgument for more than kMaxRank dimensions or one below -1.
  explicit Shape(std::span<const int64_t> dims);
  static Shape unknown();                  // unknown rank
  static Shape unknown_of_rank(int rank);  // all dimensions -1

  bool known_rank() const { return rank_ >= 0; }
  bool fully_defined() const;
  // Callers check known_rank() first.
  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[i]; }
  int64_t& operator[](int i) { return dims_[i]; }
  std::span<const int64_t> dims() const { return {dims_.data(), size_t(rank_ < 0 ? 0 : rank_)}; }
  void push_back(int64_t dim);
  // Product of all dimensions; the shape is fully defined. Throws InvalidArgument beyond
  // kMaxElements, which even the dimensions beside a 0 must not multiply to: so the products of any
  // dimensions of a tensor, and their bytes, fit into 64 bits.
  int64_t elements() const;
  static constexpr int64_t kMaxElements = int64_t{1} << 58;

  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i) {
      if (dims_[size_t(i)] != other.dims_[size_t(i)]) return false;
    }
    return true;
  }
  // True when some fully defined shape fits both.
  bool compatible_with(const Shape& other) const;
  // What both say together; throws InvalidArgument naming both when they clash.
  Shape merged_with(const Shape& other) const;
  // "[2,?,3]", "[]", "<unknown>".
  std::string text() const;

 private:
  int rank_ = 0;
  std::array<int64_t, kMaxRank> dims_{};
};

// Sums and products of sizes that come from outside; throw InvalidArgument where 64 bits do not
// hold them.
int64_t add_sizes(int64_t a, int64_t b);
int64_t multiply_sizes(int64_t a, int64_t b);

// Numpy broadcasting, aligned at the right. Unknown dimensions stay unknown unless the other
// decides.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace capstan

template <>
struct fmt::formatter<capstan::Shape> {
  constexpr auto parse(format_parse_context& c) { return c.begin(); }
  auto format(const capstan::Shape& s, format_context& c) const {
    return fmt::format_to(c.out(), "{}", s.text());
  }
};
