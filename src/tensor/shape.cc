#include "tensor/shape.h"

#include "base/error.h"

namespace capstan {

Shape::Shape(std::span<const int64_t> dims) {
  for (int64_t dim : dims) push_back(dim);
}

Shape Shape::unknown() {
  Shape s;
  s.rank_ = -1;
  return s;
}

Shape Shape::unknown_of_rank(int rank) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(-1);
  return s;
}

bool Shape::fully_defined() const {
  if (rank_ < 0) return false;
  for (int i = 0; i < rank_; ++i) {
    if (dims_[i] < 0) return false;
  }
  return true;
}

void Shape::push_back(int64_t dim) {
  if (rank_ >= kMaxRank) throw invalid_argument("a shape has at most {} dimensions", kMaxRank);
  if (dim < -1) throw invalid_argument("a dimension of {} is negative", dim);
  dims_[rank_++] = dim;
}

int64_t Shape::elements() const {
  int64_t n = 1;
  bool empty = false;
  for (int64_t dim : dims()) {
    if (dim < 0) {
      throw invalid_argument("a tensor cannot have the shape {}: a dimension is negative", text());
    } else if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(n, dim, &n) || n > kMaxElements) {
      throw invalid_argument("a tensor of shape {} has more than 2^58 elements", text());
    }
  }
  return empty ? 0 : n;
}

int64_t add_sizes(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  throw invalid_argument("{} and {} elements are more than 2^63", a, b);
}

int64_t multiply_sizes(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  throw invalid_argument("{} times {} elements are more than 2^63", a, b);
}

bool Shape::compatible_with(const Shape& other) const {
  if (rank_ < 0 || other.rank_ < 0) return true;
  if (rank_ != other.rank_) return false;
  for (int i = 0; i < rank_; ++i) {
    if (dims_[i] >= 0 && other.dims_[i] >= 0 && dims_[i] != other.dims_[i]) return false;
  }
  return true;
}

Shape Shape::merged_with(const Shape& other) const {
  if (!compatible_with(other)) {
    throw invalid_argument("shapes {} and {} are not compatible", text(), other.text());
  }
  if (rank_ < 0) return other;
  Shape out = *this;
  if (other.rank_ < 0) return out;
  for (int i = 0; i < rank_; ++i) {
    if (out.dims_[i] < 0) out.dims_[i] = other.dims_[i];
  }
  return out;
}

std::string Shape::text() const {
  if (rank_ < 0) return "<unknown>";
  std::string out = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i) out += ',';
    out += dims_[i] < 0 ? "?" : std::to_string(dims_[i]);
  }
  return out + "]";
}

Shape broadcast(const Shape& a, const Shape& b) {
  if (!a.known_rank() || !b.known_rank()) return Shape::unknown();
  const Shape& shorter = a.rank() < b.rank() ? a : b;
  Shape out = a.rank() < b.rank() ? b : a;
  for (int i = 1; i <= shorter.rank(); ++i) {
    int64_t& dim = out[out.rank() - i];
    int64_t other = shorter[shorter.rank() - i];
    if (dim == other || other == 1) continue;
    if (dim == 1) {
      dim = other;
    } else if (dim < 0) {
      // Unknown against a size above one: it must turn out to be that size, or one.
      if (other > 1) dim = other;
    } else if (other >= 0) {
      throw invalid_argument("cannot broadcast {} with {}", a, b);
    }
  }
  return out;
}

}  // namespace capstan
