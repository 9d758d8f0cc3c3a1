#include "graph/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/test_rows.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Output> gradients_of(Graph& g, std::vector<Output> ys, std::vector<Output> xs,
                                 const GradientOptions& options = {}) {
  return gradients(g, ys, xs, options);
}

// x on a ps; a = x*x and b = tanh(x)+exp(x) on two workers; c = a+b+x anywhere.
struct Model {
  explicit Model(Graph& g) {
    {
      auto on = g.device("/job:ps/task:0");
      x = placeholder(g, {4, 6});
    }
    {
      auto on = g.device("/job:worker/task:1");
      a = g.add("Mul", {x, x}, {}, "mul");
    }
    {
      auto on = g.device("/job:worker/task:0");
      Output tanh = g.add("Tanh", {x});
      b = g.add("AddV2", {tanh, g.add("Exp", {x})}, {}, "add");
    }
    c = g.add("AddV2", {g.add("AddV2", {a, b}, {}, "add_1"), x}, {}, "add_2");
    size = g.size();
  }
  Output x, a, b, c;
  int size;
};

// The expected lists below are those of TensorFlow 2.21 for the same graph.

TEST(Gradients, AddsTensorFlowsNodesInItsOrder) {
  Graph g(test_catalog());
  Model m(g);
  std::vector<Output> dx = gradients_of(g, {m.c}, {m.x});
  EXPECT_THAT(
      node_texts(g, m.size),
      ElementsAre(
          "Const gradients/Shape()", "Const gradients/grad_ys_0/Const()",
          "Fill gradients/grad_ys_0(gradients/Shape:0, gradients/grad_ys_0/Const:0)",
          "Mul gradients/mul_grad/Mul(gradients/grad_ys_0:0, x:0)",
          "Mul gradients/mul_grad/Mul_1(gradients/grad_ys_0:0, x:0)",
          "TanhGrad gradients/Tanh_grad/TanhGrad(Tanh:0, gradients/grad_ys_0:0)",
          "Mul gradients/Exp_grad/mul(gradients/grad_ys_0:0, Exp:0)",
          "AddN gradients/AddN(gradients/grad_ys_0:0, gradients/mul_grad/Mul:0, "
          "gradients/mul_grad/Mul_1:0, gradients/Tanh_grad/TanhGrad:0, gradients/Exp_grad/mul:0)"));
  EXPECT_EQ(dx[0].name(), "gradients/AddN:0");
  EXPECT_EQ(dx[0].shape(), (Shape{4, 6}));
  EXPECT_THAT(dx[0].node->attrs().get<std::vector<std::string>>("_class"),
              ElementsAre("loc:@gradients/grad_ys_0"));
}

TEST(Gradients, ColocatedWithOpsSumOnEachDeviceFirst) {
  Graph g(test_catalog());
  Model m(g);
  gradients_of(g, {m.c}, {m.x}, {.colocate_with_ops = true});
  std::vector<std::string> sums;
  for (int id = m.size; id < g.size(); ++id) {
    const Node& node = g.node(id);
    if (node.op() == "AddN") {
      sums.push_back(fmt::format("{} {} {}", node.name(), node.device(),
                                 node.attrs().get<std::vector<std::string>>("_class")[0]));
    }
  }
  EXPECT_THAT(sums, ElementsAre("gradients/AddN /job:worker/task:0 loc:@Tanh",
                                "gradients/AddN_1 /job:worker/task:1 loc:@mul",
                                "gradients/AddN_2 /job:ps/task:0 loc:@x"));
  EXPECT_EQ(g.find("gradients/mul_grad/Mul")->device(), "/job:worker/task:1");
  EXPECT_THAT(g.find("gradients/Shape")->attrs().get<std::vector<std::string>>("_class"),
              ElementsAre("loc:@add_2"));
}

TEST(Gradients, GatingTiesTheGradientsOfEachOp) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2}), y = g.add("Mul", {x, x}, {}, "mul");
  int before = g.size();
  gradients_of(g, {y}, {x}, {.gate = true});
  std::vector<std::string> texts = node_texts(g, before + 5);
  EXPECT_THAT(
      texts,
      ElementsAre(
          "NoOp gradients/mul_grad/tuple/group_deps(^gradients/mul_grad/Mul, "
          "^gradients/mul_grad/Mul_1)",
          "Identity gradients/mul_grad/tuple/control_dependency(gradients/mul_grad/Mul:0, "
          "^gradients/mul_grad/tuple/group_deps)",
          "Identity gradients/mul_grad/tuple/control_dependency_1(gradients/mul_grad/Mul_1:0, "
          "^gradients/mul_grad/tuple/group_deps)",
          "AddN gradients/AddN(gradients/mul_grad/tuple/control_dependency:0, "
          "gradients/mul_grad/tuple/control_dependency_1:0)"));
  EXPECT_THAT(g.find("gradients/mul_grad/tuple/control_dependency_1")
                  ->attrs()
                  .get<std::vector<std::string>>("_class"),
              ElementsAre("loc:@gradients/mul_grad/Mul_1"));
}

TEST(Gradients, TreeSumsInPairsAndStopsWhereToldTo) {
  Graph g(test_catalog());
  Model m(g);
  GradientOptions options;
  options.aggregation = Aggregation::kTree;
  options.stop = {m.b};
  gradients_of(g, {m.c}, {m.x}, options);
  std::vector<std::string> texts = node_texts(g, m.size + 5);
  EXPECT_THAT(
      texts,
      ElementsAre(
          "AddN gradients/x_gradient_sum/AddN(gradients/grad_ys_0:0, gradients/mul_grad/Mul:0)",
          "AddN gradients/x_gradient_sum/AddN_1(gradients/x_gradient_sum/AddN:0, "
          "gradients/mul_grad/Mul_1:0)"));
}

TEST(Gradients, ZerosStandForOutputsThatDoNotMatter) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2});
  Node& halves = g.add_node("Halves", std::vector<Output>{x}, {}, "sp");
  int before = g.size();
  gradients_of(g, {halves.output(0)}, {x});
  EXPECT_THAT(
      node_texts(g, before),
      ElementsAre("Shape gradients/Shape(sp:0)", "Const gradients/grad_ys_0/Const()",
                  "Fill gradients/grad_ys_0(gradients/Shape:0, gradients/grad_ys_0/Const:0)",
                  "ZerosLike gradients/zeros_like(sp:1)",
                  "AddV2 gradients/sp_grad/add(gradients/grad_ys_0:0, gradients/zeros_like:0)"));
}

TEST(Gradients, OfGivenGradientsPassThroughAnIdentity) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2}), y = g.add("Tanh", {x});
  Output given = placeholder(g, {2}, "given");
  GradientOptions options;
  options.grad_ys = {given};
  EXPECT_EQ(gradients_of(g, {y}, {x}, options)[0].name(), "gradients/Tanh_grad/TanhGrad:0");
  EXPECT_EQ(g.find("gradients/grad_ys_0")->op(), "Identity");
  options.grad_ys.push_back(given);
  EXPECT_THAT(error_of([&] { gradients_of(g, {y}, {x}, options); }),
              HasSubstr("2 grad_ys were given for 1 ys"));
}

TEST(Gradients, AreAbsentWhereYDoesNotDependOnX) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2}), z = placeholder(g, {2}, "z"), y = g.add("Tanh", {x});
  std::vector<Output> result = gradients_of(g, {y}, {z, x, y});
  EXPECT_FALSE(result[0]);
  EXPECT_TRUE(result[1]);
  EXPECT_EQ(result[2].name(), "gradients/grad_ys_0:0");
}

TEST(Gradients, NameTheOpThatHasNone) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2}), y = g.add("Opaque", {x}, {}, "box");
  EXPECT_THAT(error_of([&] { gradients_of(g, {y}, {x}); }),
              AllOf(HasSubstr("Unimplemented"), HasSubstr("Opaque (node 'box')"),
                    HasSubstr("stop_gradient")));
}

TEST(Gradients, ASecondCallHasAScopeOfItsOwn) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2}), y = g.add("Tanh", {x});
  gradients_of(g, {y}, {x});
  EXPECT_EQ(gradients_of(g, {y}, {x})[0].name(), "gradients_1/Tanh_grad/TanhGrad:0");
}

}  // namespace
}  // namespace capstan::testing
