#pragma once

// Boxes inside tensors: the parts in which a partitioned variable is saved.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/bundle.pb.h"
#include "tensor/tensor.h"

namespace capstan {

// From `start` on, `length` elements per dimension; always inside its tensor.
struct Box {
  std::array<int64_t, Shape::kMaxRank> start{};
  Shape length;

  int rank() const { return length.rank(); }
  std::string text() const;  // "0,5:2,3"
};

Box whole_box(const Shape& shape);
// A length of -1 (with start 0) means the whole dimension. Throws InvalidArgument with the values
// when the box does not lie inside the shape.
Box make_box(const Shape& full, std::span<const int64_t> starts, std::span<const int64_t> lengths);
Box make_box(const Shape& full, const pb::TensorSliceProto& slice);
// Nothing when they have no element in common.
std::optional<Box> intersection(const Box& a, const Box& b);
// Copies what both boxes share; each tensor holds exactly its box. Same dtype.
void copy_common(const Tensor& from, const Box& from_box, Tensor& to, const Box& to_box);

// What a saver writes for a part of a tensor: "10 4 0,5:-", the full shape, then start,length per
// dimension, "-" for all of it. Empty text is no slice.
struct SliceSpec {
  Shape full;
  std::vector<int64_t> starts, lengths;  // as for make_box
};
std::optional<SliceSpec> parse_slice_spec(std::string_view text);

// The key under which a part stands in a bundle.
std::string slice_key(std::string_view name, const pb::TensorSliceProto& slice);

}  // namespace capstan
