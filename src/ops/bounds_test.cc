// What a hostile or mistaken graph may say of a row: attrs below their least, shapes that clash.

#include <gmock/gmock.h>

#include "ops/row_test.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

class Bounds : public RowTest {
 protected:
  std::string refusal(std::string_view op, const std::vector<Arg>& args, AttrMap attrs = {}) {
    return message_of([&] { node(op, args, std::move(attrs), "row"); });
  }
};

Tensor one() { return Tensor::of<float>({2}, {1, 2}); }

TEST_F(Bounds, AListThatMustNotBeEmptyIsRefusedByTheAttrThatCountsIt) {
  const AttrMap none = {{"N", int64_t(0)}, {"T", DType::kFloat}};
  for (const char* op : {"AddN", "Pack"}) {
    EXPECT_THAT(refusal(op, {}, none), HasSubstr("attr 'N' is 0, the least is 1")) << op;
  }
  EXPECT_THAT(refusal("MergeSummary", {}, {{"N", int64_t(0)}}), HasSubstr("the least is 1"));
  EXPECT_THAT(refusal("IdentityN", {}, {{"T", std::vector<DType>{}}}),
              HasSubstr("the length of attr 'T' is 0, the least is 1"));
}

TEST_F(Bounds, NothingIsSplitIntoNoParts) {
  const Tensor axis = Tensor::scalar<int32_t>(0);
  for (int64_t parts : {int64_t(0), int64_t(-5)}) {
    EXPECT_THAT(refusal("Split", {axis, one()}, {{"num_split", parts}}),
                HasSubstr("attr 'num_split' is"));
  }
  EXPECT_THAT(refusal("Unpack", {one()}, {{"num", int64_t(-1)}}), HasSubstr("the least is 0"));
}

TEST_F(Bounds, AnArgumentOfAPieceHasAnIndexFromZeroOn) {
  EXPECT_THAT(refusal("_Arg", {}, {{"T", DType::kFloat}, {"index", int64_t(-5)}}),
              HasSubstr("attr 'index' is -5, the least is 0"));
}

TEST_F(Bounds, ConcatOffsetTakesShapesOfOneLengthThatDifferAlongTheAxisAlone) {
  const Tensor axis = Tensor::scalar<int32_t>(1);
  const Tensor first = Tensor::of<int32_t>({3}, {2, 3, 4}), shorter = Tensor::of<int32_t>({1}, {2}),
               other = Tensor::of<int32_t>({3}, {2, 5, 9});
  for (const Tensor& second : {shorter, other}) {
    EXPECT_THAT(message_of([&] {
                  run("ConcatOffset", {axis, first, second});
                }),
                HasSubstr("differ besides axis 1"));
  }
}

TEST_F(Bounds, AQueueIsNoVariable) {
  const Tensor queue =
      handle("FIFOQueue", {{"component_types", std::vector<DType>{DType::kFloat}}});
  const Tensor pair = Tensor::of<std::string>({2}, {"container", "name"});
  std::vector<Output> inputs = {handle_, graph.constant(pair)};
  Node& assign = graph.add_node("Assign", inputs);
  EXPECT_THAT(message_of([&] {
                run(assign, {queue, pair});
              }),
              HasSubstr("needs a variable as its input 0"));
}

TEST_F(Bounds, TensorsOfHandlesCannotBeMade) {
  EXPECT_THAT(message_of([] { Tensor(DType::kResource, Shape{2}); }),
              HasSubstr("a tensor cannot hold elements of type resource"));
}

TEST_F(Bounds, SizesThatDoNotFitIntoMemorysAddressesAreRefusedEvenBesideAZero) {
  const Shape shape{0, int64_t(1) << 40, int64_t(1) << 30};
  EXPECT_THAT(message_of([&] { shape.elements(); }), HasSubstr("more than 2^58 elements"));
}

}  // namespace
}  // namespace capstan
