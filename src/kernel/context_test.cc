#include "kernel/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "graph/shape_context.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void nothing(KernelContext&) {}

constexpr OpDef kRow = {
    .name = "Row", .outputs = {{"y", "float"}}, .shape = unknown_shape, .kernel = nothing};
constexpr OpDef kWaitingRow = {
    .name = "WaitingRow", .outputs = {{"y", "float"}}, .shape = unknown_shape, .blocking = nothing};
constexpr const OpDef* kRows[] = {&kRow, &kWaitingRow};

// A context of a node with one output, which was foreseen as [2].
class Context : public testing::Test {
 protected:
  void make(std::string_view op, bool laid_out) {
    ContextBuilder builder(context_);
    builder.node(&graph_.add_node(op, {}), nullptr);
    builder.output(&output_, &foreseen_, laid_out);
    if (laid_out) output_ = Tensor(DType::kFloat, foreseen_);
  }
  std::string message_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return std::string(code_name(error.code())) + ": " + error.message();
    }
    return "nothing was thrown";
  }

  Catalog catalog_{kRows};
  Graph graph_{catalog_};
  const Shape foreseen_{2};
  Tensor output_;
  KernelContext context_;
};

TEST_F(Context, GivesThePlaceThatWasLaidOutInEveryRun) {
  make("Row", true);
  const void* place = output_.raw();
  EXPECT_EQ(context_.out(0, {2}).raw(), place);
  EXPECT_EQ(context_.out(0, {2}).raw(), place);
}

TEST_F(Context, RefusesAnotherShapeThanWasLaidOut) {
  make("Row", true);
  EXPECT_THAT(message_of([&] { context_.out(0, {3}); }),
              AllOf(HasSubstr("Internal"), HasSubstr("Row"), HasSubstr("[3]"), HasSubstr("[2]")));
  EXPECT_EQ(context_.out(0, {2}).raw(), output_.raw());
}

TEST_F(Context, RefusesATensorForAnOutputThatHasAPlace) {
  make("Row", true);
  const void* place = output_.raw();
  EXPECT_THAT(message_of([&] {
                context_.set_out(0, Tensor::of<float>({2}, {1, 2}));
              }),
              AllOf(HasSubstr("Internal"), HasSubstr("Row"), HasSubstr("hands_on")));
  EXPECT_EQ(output_.raw(), place);
}

TEST_F(Context, AnOutputWithoutAPlaceStillHasTheShapeThatWasAnnounced) {
  make("Row", false);
  EXPECT_EQ(context_.out(0, {2}).shape(), Shape({2}));
  context_.set_out(0, Tensor::of<float>({2}, {1, 2}));
  EXPECT_THAT(message_of([&] { context_.out(0, {3}); }), HasSubstr("Internal"));
  EXPECT_THAT(message_of([&] {
                context_.set_out(0, Tensor::of<float>({3}, {1, 2, 3}));
              }),
              HasSubstr("Internal"));
}

// Its outputs are set on the thread of whoever ends its waiting, who is not to blame.
TEST_F(Context, AWaitingRowIsToldOfAnotherShapeWhenItIsDone) {
  make("WaitingRow", false);
  std::string told;
  ContextBuilder(context_).on_finish(
      [&](const Error* error) { told = error ? error->message() : "all is well"; });
  context_.set_out(0, Tensor::of<float>({3}, {1, 2, 3}));
  context_.done();
  EXPECT_THAT(told, AllOf(HasSubstr("WaitingRow"), HasSubstr("[3]"), HasSubstr("[2]")));
}

}  // namespace
}  // namespace capstan
