#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build/optimizers.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Placement two_tasks() { return {{"/job:worker/task:0", "/job:ps/task:0"}}; }

VariableRef variable_on(Graph& g, std::string_view device, std::string name) {
  auto placed = g.device(device);
  VariableOptions options;
  options.name = std::move(name);
  return make_variable(g, Tensor::scalar<float>(1), options);
}

std::vector<std::string> names(const Segment& segment) {
  std::vector<std::string> out;
  for (int i = 0; i < segment.piece.graph->size(); ++i)
    out.push_back(segment.piece.graph->node(i).name());
  return out;
}

std::vector<int> tasks(const Plan& plan) {
  std::vector<int> out;
  for (const Segment& s : plan.segments) out.push_back(s.task);
  return out;
}

TEST(Plan, LeavesOutWhatNobodyAskedFor) {
  Graph g(standard_catalog());
  Output x = g.constant(Tensor::scalar<float>(1));
  Output wanted = g.add("Neg", {x}, {}, "wanted");
  g.add("Exp", {x}, {}, "unwanted");
  Plan plan = make_plan(g, {{}, {wanted}, {}}, {});
  ASSERT_EQ(plan.segments.size(), 1u);
  EXPECT_THAT(names(plan.segments[0]), ElementsAre("Const", "wanted"));
}

TEST(Plan, LeavesOutWhatIsOnlyWaitedFor) {
  Graph g(standard_catalog());
  Output x = g.constant(Tensor::scalar<float>(1));
  Output random = g.add("RandomUniform", {g.constant(Tensor::of<int32_t>(Shape{1}, {2}))},
                        {{"dtype", DType::kFloat}}, "random");
  Output unused = g.add("Exp", {g.add("Neg", {random}, {}, "inner")}, {}, "unused");
  std::vector<Node*> before = {unused.node};
  auto scope = g.control_dependencies(before);
  Output wanted = g.add("Sqrt", {x}, {}, "wanted");
  Plan plan = make_plan(g, {{}, {wanted}, {}}, {});
  ASSERT_EQ(plan.segments.size(), 1u);
  EXPECT_THAT(names(plan.segments[0]), ::testing::IsSupersetOf({"random", "wanted"}));
  EXPECT_THAT(names(plan.segments[0]),
              ::testing::Not(
                  ::testing::AnyOf(::testing::Contains("unused"), ::testing::Contains("inner"))));
}

TEST(Plan, KeepsWhatIsRunOrFetchedThoughOthersOnlyWaitForIt) {
  Graph g(standard_catalog());
  Output first = g.add("Neg", {g.constant(Tensor::scalar<float>(1))}, {}, "first");
  std::vector<Node*> before = {first.node};
  auto scope = g.control_dependencies(before);
  Output second = g.add("Exp", {g.constant(Tensor::scalar<float>(2))}, {}, "second");
  Plan plan = make_plan(g, {{}, {second}, {first.node}}, {});
  EXPECT_THAT(names(plan.segments[0]), ::testing::Contains("first"));
}

TEST(Plan, AConstantFetchedFromAnotherTaskIsStillCopiedToItsUsers) {
  Graph g(standard_catalog());
  Output x, y;
  {
    auto placed = g.device("/job:ps/task:0");
    x = g.constant(Tensor::scalar<float>(1));
  }
  std::vector<Node*> before = {x.node};
  auto scope = g.control_dependencies(before);
  y = g.add("Neg", {x}, {}, "y");
  Plan plan = make_plan(g, {{}, {x, y}, {}}, two_tasks());
  EXPECT_THAT(tasks(plan), ElementsAre(0, 1));
  EXPECT_TRUE(plan.segments[0].inputs.empty());
}

TEST(Plan, ReadsOnAServerTakeOneSegmentAndUpdatesAnother) {
  Graph g(standard_catalog());
  VariableRef v = variable_on(g, "/job:ps/task:0", "v"), w = variable_on(g, "/job:ps/task:0", "w");
  Output loss = g.add("Mul", {v.read, w.read}, {}, "loss");
  auto optimizer = gradient_descent(0.1);
  std::vector<VariableRef> variables = {v, w};
  Node& train = minimize(g, *optimizer, loss, variables);
  Plan plan = make_plan(g, {{}, {loss}, {&train}}, two_tasks());
  EXPECT_THAT(tasks(plan), ElementsAre(1, 0, 1)) << "read, compute, apply";
  EXPECT_EQ(plan.segments[0].piece.outputs.size(), 2u);
}

TEST(Plan, ConstantsAndVariablesAreCopiedRatherThanSent) {
  Graph g(standard_catalog());
  VariableRef v = variable_on(g, "/job:ps/task:0", "v");
  Output five = g.constant(Tensor::scalar<float>(5), "five");
  Output with[] = {v.ref, five};
  Node& add = g.add_node("AssignAdd", with);
  Plan plan = make_plan(g, {{}, {}, {&add}}, two_tasks());
  ASSERT_THAT(tasks(plan), ElementsAre(1));
  EXPECT_TRUE(plan.segments[0].inputs.empty());
}

TEST(Plan, AnUpdateAndTheVariableFetchedTogetherCostOneSegment) {
  Graph g(standard_catalog());
  VariableRef v = variable_on(g, "/job:ps/task:0", "v");
  Output with[] = {v.ref, g.constant(Tensor::scalar<float>(5))};
  Node& add = g.add_node("AssignAdd", with);
  Plan plan = make_plan(g, {{}, {v.ref, v.read}, {&add}}, two_tasks());
  EXPECT_THAT(tasks(plan), ElementsAre(1));
}

TEST(Plan, ABlockingOpStandsApartFromWhatDoesNotWaitForIt) {
  Graph g(standard_catalog());
  AttrMap types = {{"component_types", std::vector<DType>{DType::kFloat}}};
  Output queue = g.add("FIFOQueueV2", {}, types);
  Output got = g.add("QueueDequeueV2", {queue}, types);
  Output after = g.add("Neg", {got}, {}, "after");
  Output apart =
      g.add("Neg", {g.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x")}, {}, "apart");
  Plan plan = make_plan(g, {{g.output("x:0")}, {after, apart}, {}}, {});
  ASSERT_EQ(plan.segments.size(), 2u);
  EXPECT_FALSE(plan.segments[0].blocking);
  EXPECT_TRUE(plan.segments[1].blocking);
  EXPECT_TRUE(plan.segments[1].after.empty());
}

TEST(Plan, WhatDependsOnABlockingOpOfAnotherTaskStandsApart) {
  Graph g(standard_catalog());
  AttrMap types = {{"component_types", std::vector<DType>{DType::kFloat}}};
  Output got, far;
  {
    auto device = g.device("/job:ps/task:0");
    got = g.add("QueueDequeueV2", {g.add("FIFOQueueV2", {}, types)}, types);
    far = g.add("Neg", {g.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x")}, {}, "far");
  }
  Output after = g.add("Neg", {got}, {}, "after");
  Output apart = g.add("Neg", {far}, {}, "apart");
  Plan plan = make_plan(g, {{g.output("x:0")}, {after, apart}, {}}, two_tasks());
  EXPECT_THAT(tasks(plan), ElementsAre(1, 1, 0, 0));
}

TEST(Plan, NamesTheNodeAndTheTasksForADeviceThatIsNotThere) {
  Graph g(standard_catalog());
  VariableRef v = variable_on(g, "/job:ps/task:3", "v");
  try {
    make_plan(g, {{}, {v.ref}, {}}, two_tasks());
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("node 'v' wants device '/job:ps/task:3'"));
    EXPECT_THAT(e.what(), HasSubstr("/job:worker/task:0, /job:ps/task:0"));
  }
}

TEST(Plan, ANodeOfAnotherGraphIsRefused) {
  Graph g(standard_catalog()), other(standard_catalog());
  Output x = other.constant(Tensor::scalar<float>(1), "x");
  EXPECT_THROW(make_plan(g, {{}, {x}, {}}, {}), Error);
}

}  // namespace
}  // namespace capstan
