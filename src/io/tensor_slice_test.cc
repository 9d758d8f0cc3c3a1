#include "io/tensor_slice.h"

#include <gtest/gtest.h>

#include <numeric>

namespace capstan {
namespace {

Tensor counted(const Shape& shape) {
  Tensor t(DType::kInt32, shape);
  std::iota(t.data<int32_t>(), t.data<int32_t>() + t.size(), 0);
  return t;
}

Box box(const Shape& full, std::vector<int64_t> starts, std::vector<int64_t> lengths) {
  return make_box(full, starts, lengths);
}

pb::TensorSliceProto slice(std::vector<std::pair<int64_t, int64_t>> extents) {
  pb::TensorSliceProto out;
  for (auto [start, length] : extents) {
    auto* extent = out.add_extent();
    if (length < 0) continue;
    extent->set_start(start);
    extent->set_length(length);
  }
  return out;
}

TEST(TensorSlice, CutsBoxesOfEveryRank) {
  Shape full{4, 3, 5};
  Tensor whole = counted(full);
  Box part = box(full, {1, 0, 2}, {2, -1, 3});
  Tensor out(DType::kInt32, part.length);
  copy_common(whole, whole_box(full), out, part);
  int32_t* p = out.data<int32_t>();
  for (int i = 1; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 2; k < 5; ++k) EXPECT_EQ(*p++, (i * 3 + j) * 5 + k);
    }
  }
}

TEST(TensorSlice, PartsPutTogetherGiveTheWhole) {
  Shape full{5, 4};
  Tensor whole = counted(full);
  for (int axis : {0, 1}) {
    Tensor joined(DType::kInt32, full);
    for (int64_t at : {0, 2}) {
      Box part = whole_box(full);
      part.start[size_t(axis)] = at;
      part.length[axis] = at == 0 ? 2 : full[axis] - 2;
      Tensor piece(DType::kInt32, part.length);
      copy_common(whole, whole_box(full), piece, part);
      copy_common(piece, part, joined, whole_box(full));
    }
    EXPECT_TRUE(joined.equals(whole)) << axis;
  }
}

TEST(TensorSlice, CopiesScalarsAndStrings) {
  Tensor out(DType::kString, Shape{});
  copy_common(Tensor::scalar<std::string>("text"), whole_box({}), out, whole_box({}));
  EXPECT_EQ(*out.data<std::string>(), "text");
}

TEST(TensorSlice, BoxesOutsideAreRefused) {
  EXPECT_THROW(box({4}, {0}, {5}), Error);
  EXPECT_THROW(box({4}, {-1}, {2}), Error);
  EXPECT_THROW(box({4}, {3}, {2}), Error);
  EXPECT_THROW(box({4}, {INT64_MAX}, {INT64_MAX}), Error);
  EXPECT_THROW(box({4}, {1}, {-1}), Error);
  EXPECT_THROW(box({4}, {0, 0}, {1, 1}), Error);
}

TEST(TensorSlice, ParsesWhatSaversWrite) {
  std::optional<SliceSpec> spec = parse_slice_spec("10 4 5,5:-");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->full, (Shape{10, 4}));
  EXPECT_EQ(spec->starts, (std::vector<int64_t>{5, 0}));
  EXPECT_EQ(spec->lengths, (std::vector<int64_t>{5, -1}));
  EXPECT_FALSE(parse_slice_spec(""));
  for (const char* wrong :
       {"10", "10 4 0,5", "10 x 0,5:-", "10 4 0,5:0,", "10 4 0,11:-", "10 4 0:-"}) {
    EXPECT_THROW(parse_slice_spec(wrong), Error) << wrong;
  }
}

// The keys were printed by TensorFlow's own encoder.
TEST(TensorSlice, KeysAreThoseOfTensorFlow) {
  EXPECT_EQ(slice_key("w", slice({{0, 5}, {0, -1}})),
            std::string("\x00w\x00\x01\x01\x02\x80\x85\x80\x7f", 10));
  EXPECT_EQ(slice_key("w", slice({{100, 100000}})),
            std::string("\x00w\x00\x01\x01\x01\xc0\x64\xe1\x86\xa0", 11));
}

}  // namespace
}  // namespace capstan
