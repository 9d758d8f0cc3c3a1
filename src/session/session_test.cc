#include "session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build/optimizers.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

float value(const Tensor& t) { return t.data<float>()[0]; }

VariableRef scalar_variable(Graph& g, float initial, std::string name) {
  VariableOptions options;
  options.name = std::move(name);
  return make_variable(g, Tensor::scalar<float>(initial), options);
}

Output number(Graph& g, float x) { return g.constant(Tensor::scalar<float>(x)); }

TEST(Session, AddsTwoFedValues) {
  Graph g(standard_catalog());
  Output x = g.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
  Output y = g.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "y");
  Output sum = g.add("AddV2", {x, y});
  Session session(g);
  Tensor a = Tensor::of<float>({3}, {1, 2, 3});
  std::vector<Tensor> out = session.run({{x, a}, {y, Tensor::scalar<float>(10)}}, {sum});
  EXPECT_TRUE(out[0].equals(Tensor::of<float>({3}, {11, 12, 13}))) << out[0].text();
}

TEST(Session, LinearRegressionFindsItsWeights) {
  Graph g(standard_catalog());
  Output x = g.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
  Output y = g.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "y");
  VariableRef w = scalar_variable(g, 0, "w"), b = scalar_variable(g, 0, "b");
  VariableRef step = make_global_step(g);
  Output prediction = g.add("AddV2", {g.add("Mul", {x, w.read}), b.read});
  Output loss = g.add("Square", {g.add("Sub", {y, prediction})});
  auto optimizer = gradient_descent(0.05);
  std::vector<VariableRef> variables = {w, b};
  Node& train = minimize(g, *optimizer, loss, variables, &step);
  std::vector<VariableRef> all = {w, b, step};
  Node& init = initialize(g, all);
  Session session(g);
  session.run({}, {}, {&init});
  for (int i = 0; i < 500; ++i) {
    float v = float(i % 7) - 3;
    session.run({{x, Tensor::scalar<float>(v)}, {y, Tensor::scalar<float>(2 * v + 10)}}, {loss},
                {&train});
  }
  std::vector<Tensor> end = session.run({}, {w.ref, b.ref, step.ref});
  EXPECT_NEAR(value(end[0]), 2, 1e-2);
  EXPECT_NEAR(value(end[1]), 10, 1e-2);
  EXPECT_EQ(*end[2].data<int64_t>(), 500);
}

TEST(StepMeaning, AReadUnderAControlDependencyOnAnUpdateSeesTheNewValue) {
  Graph g(standard_catalog());
  VariableRef v = scalar_variable(g, 1, "v");
  Node& add = *g.add("AssignAdd", {v.ref, number(g, 5)}).node;
  Output after, before;
  {
    auto deps = g.control_dependencies({&add});
    after = g.add("Mul", {v.read, number(g, 1)});
  }
  before = g.add("Mul", {v.read, number(g, 1)});
  Session session(g);
  session.run({}, {}, {v.initializer});
  std::vector<Tensor> out = session.run({}, {after, before});
  EXPECT_EQ(value(out[0]), 6);
  EXPECT_EQ(value(out[1]), 1);
}

TEST(StepMeaning, AVariableFetchedWithItsUpdateShowsTheValueAfterIt) {
  Graph g(standard_catalog());
  VariableRef v = scalar_variable(g, 1, "v");
  Node& add = *g.add("AssignAdd", {v.ref, number(g, 5)}).node;
  Session session(g);
  session.run({}, {}, {v.initializer});
  std::vector<Tensor> out = session.run({}, {v.ref, v.read}, {&add});
  EXPECT_EQ(value(out[0]), 6);
  EXPECT_EQ(value(out[1]), 1);
}

TEST(StepMeaning, WritesFreeOfEachOtherRunInTheOrderOfTheirNodes) {
  Graph g(standard_catalog());
  VariableRef v = scalar_variable(g, 1, "v");
  Node& add = *g.add("AssignAdd", {v.ref, number(g, 5)}).node;
  Node& set = *g.add("Assign", {v.ref, number(g, 2)}).node;
  Session session(g);
  session.run({}, {}, {v.initializer});
  EXPECT_EQ(value(session.run({}, {v.ref}, {&set, &add})[0]), 2);
}

TEST(StepMeaning, AConstantWithControlInputsStillOrdersItsConsumers) {
  Graph g(standard_catalog());
  VariableRef v = scalar_variable(g, 1, "v");
  Node& add = *g.add("AssignAdd", {v.ref, number(g, 5)}).node;
  Output one;
  {
    auto deps = g.control_dependencies({&add});
    one = number(g, 1);
  }
  Output product = g.add("Mul", {v.read, one});
  Session session(g);
  session.run({}, {}, {v.initializer});
  EXPECT_EQ(value(session.run({}, {product})[0]), 6);
}

TEST(StepMeaning, AFedTensorIsNotFolded) {
  Graph g(standard_catalog());
  Output one = number(g, 1);
  Output two = g.add("AddV2", {one, one});
  Output three = g.add("AddV2", {two, one});
  Session session(g);
  EXPECT_EQ(value(session.run({}, {three})[0]), 3);
  EXPECT_EQ(value(session.run({{two, Tensor::scalar<float>(40)}}, {three})[0]), 41);
}

TEST(StepMeaning, AnEnqueueAndADequeueMeetInOneRun) {
  Graph g(standard_catalog());
  Output queue = g.add("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  Output got =
      g.add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  Output inputs[] = {queue, number(g, 7)};
  Node& put = g.add_node("QueueEnqueueV2", inputs);
  Session session(g);
  EXPECT_EQ(value(session.run({}, {got}, {&put})[0]), 7);
}

TEST(Session, CloseEndsABlockedRunAtOnce) {
  Graph g(standard_catalog());
  Output queue = g.add("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  Output got =
      g.add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  SessionOptions options;
  std::function<void()> on_wait;
  options.on_wait = [&] { on_wait(); };
  Session session(g, options);
  on_wait = [&] { session.close(); };
  try {
    session.run({}, {got});
    FAIL() << "the run should have been cancelled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kCancelled) << e.what();
  }
}

TEST(Session, NamesTheVariableThatWasNeverSet) {
  Graph g(standard_catalog());
  VariableRef v = scalar_variable(g, 1, "weight");
  Session session(g);
  try {
    session.run({}, {v.read});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kFailedPrecondition);
    EXPECT_THAT(e.what(), HasSubstr("weight"));
  }
}

TEST(Session, NamesTheTensorThatWasFedTheWrongType) {
  Graph g(standard_catalog());
  Output x = g.add("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape{2}}}, "x");
  Output y = g.add("Square", {x});
  Session session(g);
  EXPECT_THROW(session.run({{x, Tensor::scalar<int32_t>(1)}}, {y}), Error);
  try {
    session.run({{x, Tensor::of<float>({3}, {1, 2, 3})}}, {y});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("shape [3] for 'x:0', which has shape [2]"));
  }
}

TEST(Session, NamesThePlaceholderThatWasNotFed) {
  Graph g(standard_catalog());
  Output x = g.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
  Session session(g);
  try {
    session.run({}, {g.add("Square", {x})});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kInvalidArgument);
    EXPECT_THAT(e.what(), HasSubstr("x"));
  }
}

}  // namespace
}  // namespace capstan
