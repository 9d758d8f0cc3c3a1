#include <thread>

#include "ops/row_test.h"

namespace capstan {
namespace {

class State : public RowTest {};

TEST_F(State, AssignInitializesAndThenKeepsTheShape) {
  auto w = task.variables.get("", "w", DType::kFloat);
  EXPECT_FALSE(*run("IsVariableInitialized", {w})[0].data<bool>());
  run("Assign", {w, Tensor::of<float>({2}, {1, 2})});
  EXPECT_TRUE(*run("IsVariableInitialized", {w})[0].data<bool>());
  const std::string message = message_of([&] {
    run("Assign", {w, Tensor::of<float>({3}, {1, 2, 3})});
  });
  EXPECT_NE(message.find("lhs shape= [2] rhs shape= [3] (variable w)"), std::string::npos)
      << message;
  run("Assign", {w, Tensor::of<float>({3}, {1, 2, 3})}, {{"validate_shape", false}});
  EXPECT_EQ(w->value().shape(), (Shape{3}));
}

TEST_F(State, AnInitializedValueIsTheVariablesOnceItHasOne) {
  auto w = task.variables.get("", "w", DType::kFloat);
  Tensor otherwise = Tensor::of<float>({2}, {7, 8});
  EXPECT_EQ(run("InitializedValue", {w, otherwise})[0].data<float>()[1], 8);
  run("Assign", {w, Tensor::of<float>({2}, {1, 2})});
  EXPECT_EQ(run("InitializedValue", {w, otherwise})[0].data<float>()[1], 2);
}

TEST_F(State, AssignNamesAClashOfStaticShapes) {
  Output w = graph.add("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", Shape{2}}});
  Output x = graph.add("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape{3}}});
  EXPECT_THROW(graph.add("Assign", {w, x}), Error);
}

TEST_F(State, AddsAndSubtractsInPlace) {
  auto step = variable("step", Tensor::scalar<int64_t>(4));
  run("AssignAdd", {step, Tensor::scalar<int64_t>(3)});
  auto result = run("AssignSub", {step, Tensor::scalar<int64_t>(1)}, {{"use_locking", true}});
  EXPECT_EQ(*step->value().data<int64_t>(), 6);
  EXPECT_EQ(*result[0].data<int64_t>(), 6);  // the output is the variable
  EXPECT_THROW(run("AssignAdd", {step, Tensor::of<int64_t>({1}, {1})}), Error);
}

TEST_F(State, AnUpdateOfAnUninitializedVariableNamesIt) {
  auto w = task.variables.get("", "w", DType::kFloat);
  const std::string message = message_of([&] { run("AssignAdd", {w, Tensor::scalar(1.0f)}); });
  EXPECT_NE(message.find("uninitialized value w"), std::string::npos) << message;
}

TEST_F(State, ScattersRows) {
  auto table = variable("table", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Tensor ids = Tensor::of<int32_t>({3}, {2, 0, 2});
  run("ScatterAdd", {table, ids, Tensor::of<float>({3, 2}, {1, 1, 10, 10, 100, 100})});
  EXPECT_TRUE(table->value().equals(Tensor::of<float>({3, 2}, {11, 12, 3, 4, 106, 107})));
  run("ScatterSub", {table, ids, Tensor::scalar(1.0f)});
  EXPECT_TRUE(table->value().equals(Tensor::of<float>({3, 2}, {10, 11, 3, 4, 104, 105})));
  run("ScatterUpdate", {table, Tensor::of<int64_t>({1}, {1}), Tensor::of<float>({1, 2}, {7, 8})});
  EXPECT_EQ(table->value().data<float>()[3], 8);
  const std::string message = message_of([&] {
    run("ScatterAdd", {table, Tensor::of<int32_t>({1}, {5}), Tensor::of<float>({1, 2}, {0, 0})});
  });
  EXPECT_NE(message.find("indices[0] = 5 is not in [0, 3)"), std::string::npos) << message;
}

TEST_F(State, LockedWritersExcludeEachOther) {
  auto count = variable("count", Tensor::scalar<int64_t>(0));
  Node& add = node("AssignAdd", {count, Tensor::scalar<int64_t>(1)}, {{"use_locking", true}});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) run(add, {count, Tensor::scalar<int64_t>(1)});
    });
  }
  threads.clear();
  EXPECT_EQ(*count->value().data<int64_t>(), 2000);
}

TEST_F(State, LockedWritersNeverExcludeReaders) {
  auto w = variable("w", Tensor::scalar(1.0f));
  std::lock_guard writing(w->write_mutex());
  EXPECT_EQ(*w->value().data<float>(), 1);
  // A writer that does not lock is not held up either.
  run("AssignAdd", {w, Tensor::scalar(1.0f)});
  EXPECT_EQ(*w->value().data<float>(), 2);
}

TEST_F(State, OldVariablesTakeAScalarShapeForAnUnknownOne) {
  EXPECT_FALSE(graph.add("Variable", {}, {{"dtype", DType::kFloat}, {"shape", Shape{}}})
                   .shape()
                   .known_rank());
  EXPECT_EQ(graph.add("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", Shape{}}}).shape(),
            Shape{});
}

TEST_F(State, APlaceholderThatIsNotFedNamesItself) {
  Node& x =
      graph.add_node("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape{-1, 3}}}, "x");
  const std::string message = message_of([&] { run(x, {}); });
  EXPECT_NE(
      message.find("You must feed a value for placeholder tensor 'x' with dtype float32 and shape "
                   "[?,3]"),
      std::string::npos)
      << message;
}

TEST_F(State, AssertFailsWithItsData) {
  run("Assert", {Tensor::scalar(true), Tensor::scalar(1.0f)});
  const std::string message = message_of([&] {
    run("Assert", {Tensor::scalar(false), Tensor::scalar<std::string>("loss is"),
                   Tensor::of<float>({2}, {1.5f, 2})});
  });
  EXPECT_EQ(message, "InvalidArgument: assertion failed: [loss is] [1.5 2]");
}

}  // namespace
}  // namespace capstan
