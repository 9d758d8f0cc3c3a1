#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "graph/test_rows.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> names(const std::vector<Node*>& nodes) {
  std::vector<std::string> out;
  for (const Node* node : nodes) out.push_back(node->name());
  return out;
}

TEST(Names, AreCountedWithoutRegardToCase) {
  Graph g(test_catalog());
  EXPECT_EQ(g.unique_name("Foo"), "Foo");
  EXPECT_EQ(g.unique_name("foo"), "foo_1");
  EXPECT_EQ(g.unique_name("FOO"), "FOO_2");
  EXPECT_EQ(g.unique_name("foo_1"), "foo_1_1");
  EXPECT_EQ(g.unique_name("foo", false), "foo_3");
  EXPECT_EQ(g.unique_name("foo"), "foo_3");
}

TEST(Names, DefaultToTheOpAndLieBelowTheScope) {
  Graph g(test_catalog());
  auto outer = g.name_scope("layer");
  EXPECT_EQ(g.add_node("NoOp", {}).name(), "layer/NoOp");
  EXPECT_EQ(g.add_node("NoOp", {}).name(), "layer/NoOp_1");
  {
    auto inner = g.name_scope("_inner");
    EXPECT_EQ(g.current_scope(), "layer/_inner");
  }
  {
    auto again = g.name_scope("_inner");
    EXPECT_EQ(g.current_scope(), "layer/_inner_1");
  }
  {
    auto same = g.name_scope("layer/_inner/");
    EXPECT_EQ(g.add_node("NoOp", {}, {}, "exact/").name(), "exact");
    EXPECT_EQ(g.add_node("NoOp", {}, {}, "a").name(), "layer/_inner/a");
    auto root = g.name_scope("");
    EXPECT_EQ(g.current_scope(), "");
  }
  EXPECT_EQ(g.current_scope(), "layer");
}

TEST(Names, RefusesNamesThatTensorFlowRefuses) {
  Graph g(test_catalog());
  EXPECT_THAT(error_of([&] { (void)g.name_scope("_a"); }),
              HasSubstr("'_a' is not a valid root scope name"));
  EXPECT_THAT(error_of([&] { (void)g.name_scope("a b"); }), HasSubstr("'a b'"));
  EXPECT_THAT(error_of([&] { g.add_node("NoOp", {}, {}, "a:0"); }),
              HasSubstr("'a:0' is not a valid node name"));
  g.add_node("NoOp", {}, {}, "taken");
  EXPECT_THAT(error_of([&] { g.add_node("NoOp", {}, {}, "taken/"); }),
              HasSubstr("a node of this name"));
}

TEST(Lookup, FindsTensorsByName) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2});
  EXPECT_EQ(g.output("x:0"), x);
  EXPECT_EQ(g.output("x"), x);
  EXPECT_THAT(error_of([&] { g.output("y:0"); }), AllOf(HasSubstr("NotFound"), HasSubstr("'y'")));
  EXPECT_THAT(error_of([&] { g.output("x:1"); }), HasSubstr("only 1 outputs"));
  EXPECT_THAT(error_of([&] { g.output("x:z"); }), HasSubstr("must look like 'node:0'"));
}

TEST(Signature, InfersTypesAndCountsAndFillsInDefaults) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2});
  Node& sum = *g.add("AddN", {x, x, x}).node;
  EXPECT_EQ(sum.attrs().get<int64_t>("N"), 3);
  EXPECT_EQ(sum.attrs().get<DType>("T"), DType::kFloat);
  Node& queue = g.add_node("Queue", {}, {{"component_types", std::vector<DType>{DType::kInt32}}});
  EXPECT_EQ(queue.attrs().get<float>("scale"), 0.5f);
  EXPECT_THAT(queue.attrs().get<std::vector<int64_t>>("kernel"), ElementsAre(1, 2));
  EXPECT_THAT(queue.attrs().get<std::vector<Shape>>("shapes"), IsEmpty());
  Output inputs[] = {queue.output(0), x, placeholder(g, {}, "i", DType::kInt32)};
  Node& enqueue = g.add_node("Enqueue", inputs);
  EXPECT_THAT(enqueue.attrs().get<std::vector<DType>>("Tcomponents"),
              ElementsAre(DType::kFloat, DType::kInt32));
  EXPECT_EQ(enqueue.attrs().get<int64_t>("timeout_ms"), -1);
}

TEST(Signature, NamesTheInputOfAnotherTypeAndTheProgramsLine) {
  Graph g(test_catalog());
  g.set_locator([] { return "train.py:42"; });
  Output x = placeholder(g, {2}), i = placeholder(g, {2}, "i", DType::kInt32);
  EXPECT_THAT(
      error_of([&] {
        g.add("AddV2", {x, i}, {}, "foo");
      }),
      AllOf(HasSubstr("AddV2 'foo'"), HasSubstr("input 1 ('y') has type int32, expected float32"),
            HasSubstr("input 0 ('x')"), HasSubstr("(train.py:42)")));
  EXPECT_THAT(error_of([&] {
                g.add("AddV2", {x, x}, {{"T", DType::kInt32}});
              }),
              HasSubstr("by its attr T"));
}

TEST(Signature, NamesWhatIsWrongWithAttrs) {
  Graph g(test_catalog());
  Output x = placeholder(g, {2}), i = placeholder(g, {2}, "i", DType::kInt32);
  EXPECT_THAT(error_of([&] { g.add("Cast", {x}); }),
              AllOf(HasSubstr("'DstT'"), HasSubstr("missing")));
  EXPECT_THAT(error_of([&] { g.add("Tanh", {i}); }),
              HasSubstr("attr 'T' is int32, but the op has only float"));
  EXPECT_THAT(error_of([&] {
                g.add("Tanh", {x}, {{"U", true}});
              }),
              HasSubstr("no attr 'U'; it has T"));
  EXPECT_THAT(error_of([&] {
                g.add("Split", {x}, {{"num_split", true}});
              }),
              HasSubstr("kind int, not bool"));
  EXPECT_THAT(error_of([&] {
                g.add("Split", {x}, {{"num_split", int64_t(1) << 60}});
              }),
              HasSubstr("cannot be"));
  EXPECT_THAT(error_of([&] { g.add("AddV2", {x}); }), HasSubstr("takes 2 (x: T, y: T)"));
  EXPECT_THAT(error_of([&] { g.add("AddV2", {x, Output()}); }), HasSubstr("input 1 is missing"));
  EXPECT_NO_THROW(g.add("Tanh", {x}, {{"_note", true}}));
}

TEST(Signature, WholeNumbersServeAsFloatsAndAnyEmptyListAsTheRightOne) {
  Graph g(test_catalog());
  Node& queue = g.add_node(
      "Queue", {}, {{"component_types", std::vector<std::string>()}, {"scale", int64_t(2)}});
  EXPECT_EQ(queue.attrs().get<float>("scale"), 2.0f);
  EXPECT_THAT(queue.attrs().get<std::vector<DType>>("component_types"), IsEmpty());
}

TEST(References, AreNeededByOpsThatWriteAndReadByOthers) {
  Graph g(test_catalog());
  Output v = g.add("VariableV2", {}, {{"shape", Shape{2}}, {"dtype", DType::kFloat}});
  Output x = placeholder(g, {2});
  EXPECT_TRUE(v.is_ref());
  EXPECT_FALSE(g.add("Identity", {v}).is_ref());
  Node& assign = *g.add("Assign", {v, x}).node;
  EXPECT_TRUE(assign.input_is_ref(0) && !assign.input_is_ref(1) && assign.output_is_ref(0));
  EXPECT_THAT(error_of([&] {
                g.add("Assign", {x, x});
              }),
              HasSubstr("must be a variable's reference, but 'x:0'"));
  EXPECT_THAT(error_of([&] {
                g.add("Assign", {v, placeholder(g, {3})});
              }),
              HasSubstr("[2], but 'value' has [3]"));
}

TEST(Shapes, ClashesNameTheNodeAndTheLine) {
  Graph g(test_catalog());
  g.set_locator([] { return "train.py:7"; });
  Output a = placeholder(g, {-1, 3}), b = placeholder(g, {4, 5}), c = placeholder(g, {3, 5});
  EXPECT_EQ(g.add("MatMul", {a, c}).shape(), (Shape{-1, 5}));
  EXPECT_THAT(error_of([&] {
                g.add("MatMul", {a, b}, {}, "hidden");
              }),
              AllOf(HasSubstr("MatMul 'hidden': the inner dimensions 3 and 4 differ (train.py:7)"),
                    HasSubstr("InvalidArgument")));
  EXPECT_THAT(error_of([&] {
                g.add("MatMul", {a, placeholder(g, {2})});
              }),
              HasSubstr("input 1 ('b') must have rank 2"));
}

TEST(Shapes, BecomeMorePreciseAndNeverClash) {
  Graph g(test_catalog());
  Output x = placeholder(g, {-1, 3});
  uint64_t before = g.version();
  g.set_shape(x, {5, -1});
  EXPECT_EQ(x.shape(), (Shape{5, 3}));
  EXPECT_GT(g.version(), before);
  EXPECT_THAT(error_of([&] { g.set_shape(x, {6, 3}); }), HasSubstr("'x:0' has shape [5,3]"));
}

TEST(Control, AppliesToNodesMadeWithinUnlessAnInputIsAlreadyOrdered) {
  Graph g(test_catalog());
  Node& a = g.add_node("NoOp", {}, {}, "a");
  Output x = placeholder(g, {2});
  auto block = g.control_dependencies({&a, x.node, &a});
  Output y = g.add("Identity", {x}, {}, "y");
  EXPECT_THAT(names(y.node->control_inputs()), ElementsAre("a"));
  EXPECT_THAT(g.add("Identity", {y}).node->control_inputs(), IsEmpty());
  EXPECT_THAT(names(g.add_node("NoOp", {}).control_inputs()), ElementsAre("a", "x"));
  Node& b = g.add_node("NoOp", {}, {}, "b");
  auto inner = g.control_dependencies({&a, &b});
  EXPECT_THAT(names(g.add_node("NoOp", {}).control_inputs()), ElementsAre("a", "x", "b"));
  EXPECT_THAT(names(g.add("Identity", {y}).node->control_inputs()), ElementsAre("b"));
}

TEST(Control, CanBeCleared) {
  Graph g(test_catalog());
  Node& a = g.add_node("NoOp", {}, {}, "a");
  auto outer = g.control_dependencies({&a});
  Output y;
  {
    auto clear = g.clear_control_dependencies();
    y = placeholder(g, {2}, "y");
    EXPECT_THAT(y.node->control_inputs(), IsEmpty());
    auto again = g.control_dependencies({&a});
    EXPECT_THAT(names(g.add_node("NoOp", {}).control_inputs()), ElementsAre("a"));
  }
  // y was made outside of the order, so it does not stand for it.
  EXPECT_THAT(names(g.add("Identity", {y}).node->control_inputs()), ElementsAre("a"));
}

TEST(Devices, InnerBlocksWinFieldByField) {
  Graph g(test_catalog());
  auto outer = g.device("/job:ps/task:1");
  EXPECT_EQ(g.add_node("NoOp", {}).device(), "/job:ps/task:1");
  {
    auto inner = g.device("/task:2/cpu:0");
    EXPECT_EQ(g.add_node("NoOp", {}).device(), "/job:ps/task:2/device:CPU:0");
    auto empty = g.device("");
    EXPECT_EQ(g.add_node("NoOp", {}).device(), "/job:ps/task:2/device:CPU:0");
    auto none = g.no_device();
    EXPECT_EQ(g.add_node("NoOp", {}).device(), "");
    auto again = g.device("/gpu:1");
    EXPECT_EQ(g.add_node("NoOp", {}).device(), "/device:GPU:1");
  }
  EXPECT_EQ(g.add_node("NoOp", {}).device(), "/job:ps/task:1");
}

TEST(Devices, FunctionsSeeWhatInnerBlocksSaidAndReplaceIt) {
  Graph g(test_catalog());
  auto outer = g.device("/job:worker/task:3");
  std::string seen;
  auto middle = g.device([&](const Node& node) {
    seen = node.device();
    return std::string(node.op() == "NoOp" ? "/job:ps" : "");
  });
  auto inner = g.device("/cpu:0");
  EXPECT_EQ(g.add_node("NoOp", {}).device(), "/job:ps/task:3");
  EXPECT_EQ(seen, "/device:CPU:0");
  EXPECT_EQ(placeholder(g, {}).node->device(), "/job:worker/task:3");
}

TEST(Colocation, TakesTheDeviceAndNamesTheGroups) {
  Graph g(test_catalog());
  Node *a, *b;
  {
    auto device = g.device("/job:ps/task:0");
    a = &g.add_node("NoOp", {}, {}, "a");
  }
  auto device = g.device("/job:worker/task:5");
  b = &g.add_node("NoOp", {}, {}, "b");
  auto with_b = g.colocate_with(b);
  {
    auto with_a = g.colocate_with(a);
    Node& both = g.add_node("NoOp", {});
    EXPECT_THAT(both.attrs().get<std::vector<std::string>>("_class"),
                ElementsAre("loc:@a", "loc:@b"));
    EXPECT_EQ(both.device(), "/job:ps/task:0");
    auto with_both = g.colocate_with(&both, true);
    EXPECT_THAT(g.add_node("NoOp", {}).attrs().get<std::vector<std::string>>("_class"),
                ElementsAre("loc:@a", "loc:@b"));
  }
  {
    auto nothing = g.colocate_with(nullptr, true);
    Node& free = g.add_node("NoOp", {});
    EXPECT_FALSE(free.attrs().has("_class"));
    EXPECT_EQ(free.device(), "");
  }
  EXPECT_EQ(g.add_node("NoOp", {}).device(), "/job:worker/task:5");
  EXPECT_THAT(error_of([&] { (void)g.colocate_with(nullptr); }), HasSubstr("ignore"));
}

TEST(Scopes, ContainerAndAttrsReachTheNodesMadeWithin) {
  Graph g(test_catalog());
  auto container = g.container("box");
  auto attr = g.attr_scope("_mark", int64_t(1));
  auto inner = g.attr_scope("_mark", int64_t(2));
  AttrMap attrs{{"shape", Shape{}}, {"dtype", DType::kFloat}};
  Node& v = g.add_node("VariableV2", {}, attrs);
  EXPECT_EQ(v.attrs().get<std::string>("container"), "box");
  EXPECT_EQ(v.attrs().get<int64_t>("_mark"), 2);
  attrs.set("container", std::string("own"));
  EXPECT_EQ(g.add_node("VariableV2", {}, attrs).attrs().get<std::string>("container"), "own");
}

TEST(Seeds, FollowTensorFlowsRules) {
  using Pair = std::pair<int64_t, int64_t>;
  Graph g(test_catalog());
  EXPECT_EQ(g.random_seeds({}), Pair(0, 0));
  EXPECT_EQ(g.random_seeds(7), Pair(87654321, 7));
  g.set_seed(0);
  EXPECT_EQ(g.random_seeds(0), Pair(0, (1ll << 31) - 1));
  g.set_seed(5);
  EXPECT_EQ(g.random_seeds({}), Pair(5, 0));
  EXPECT_EQ(g.random_seeds({}), Pair(5, 1));
  EXPECT_EQ(g.random_seeds(-1), Pair(5, (1ll << 31) - 2));
}

TEST(Graph, TakesNoNodesOnceFinalized) {
  Graph g(test_catalog());
  g.finalize();
  EXPECT_THAT(error_of([&] { g.add_node("NoOp", {}); }),
              AllOf(HasSubstr("FailedPrecondition"), HasSubstr("finalized")));
}

TEST(Graph, NamesTheNearestOpsForOneItLacks) {
  Graph g(test_catalog());
  EXPECT_THAT(
      error_of([&] { g.add("Matmul", {}); }),
      AllOf(HasSubstr("Unimplemented"), HasSubstr("no op 'Matmul'; the nearest are MatMul")));
}

TEST(Graph, GuessesNoOpForANameThatIsNearNone) {
  Graph g(test_catalog());
  EXPECT_THAT(error_of([&] { g.add("NonMaxSuppression", {}); }), Not(HasSubstr("nearest")));
}

TEST(Graph, HasAScopeOfNamesForEachThread) {
  Graph g(test_catalog());
  auto scope = g.name_scope("main");
  std::string elsewhere, inner;
  std::thread other([&] {
    elsewhere = g.unique_name("c");
    auto own = g.name_scope("own");
    inner = g.unique_name("c");
    scope.close();  // of the thread that entered it
    EXPECT_EQ(g.current_scope(), "own");
  });
  other.join();
  EXPECT_EQ(elsewhere, "c");
  EXPECT_EQ(inner, "own/c");
  EXPECT_EQ(g.current_scope(), "");
}

TEST(Graph, RefusesValuesOfAnotherGraph) {
  Graph g(test_catalog()), h(test_catalog());
  Output x = placeholder(h, {2});
  EXPECT_THAT(error_of([&] { g.add("Identity", {x}); }), HasSubstr("belongs to another graph"));
  EXPECT_THAT(error_of([&] { (void)g.control_dependencies({x.node}); }),
              HasSubstr("another graph"));
}

}  // namespace
}  // namespace capstan::testing
