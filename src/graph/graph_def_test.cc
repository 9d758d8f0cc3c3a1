#include "graph/graph_def.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "graph/test_rows.h"
#include "proto/graph.pb.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

pb::NodeDef& add_def(pb::GraphDef& def, const std::string& name, const std::string& op,
                     std::vector<std::string> inputs = {}) {
  pb::NodeDef& node = *def.add_node();
  node.set_name(name);
  node.set_op(op);
  for (std::string& input : inputs) node.add_input(std::move(input));
  return node;
}

pb::NodeDef& add_placeholder(pb::GraphDef& def, const std::string& name) {
  pb::NodeDef& node = add_def(def, name, "Placeholder");
  (*node.mutable_attr())["dtype"].set_type(pb::DT_FLOAT);
  return node;
}

std::string import_error(const pb::GraphDef& def) {
  Graph g(test_catalog());
  std::string error = error_of([&] { from_graph_def(g, def.SerializeAsString()); });
  EXPECT_TRUE(error.empty() || g.size() == 0) << "a failed import left nodes behind";
  return error;
}

void build_sample(Graph& g) {
  auto device = g.device("/job:ps/task:0");
  Output x = placeholder(g, {-1, 3});
  Output v = g.add("VariableV2", {}, {{"shape", Shape{-1, 3}}, {"dtype", DType::kFloat}}, "v");
  auto colocated = g.colocate_with(v.node);
  auto controls = g.control_dependencies({x.node});
  g.add("Assign", {v, x});
  g.add_node("Split", std::vector<Output>{x}, {{"num_split", int64_t(2)}}, "split");
  g.add("AddN", {g.output("split:1"), g.output("split:0")},
        {{"_note", std::vector<std::string>{"a", "b"}}});
  g.constant(Tensor::of<std::string>({2}, {"one", "two"}));
  g.add_node("Queue", {}, {{"component_types", std::vector<DType>{DType::kInt64, DType::kString}}});
}

TEST(GraphDef, ComesBackAsItWas) {
  Graph g(test_catalog()), h(test_catalog());
  build_sample(g);
  std::string bytes = to_graph_def(g);
  std::vector<Node*> nodes = from_graph_def(h, bytes);
  EXPECT_EQ(nodes.size(), size_t(g.size()));
  EXPECT_EQ(node_texts(h), node_texts(g));
  EXPECT_EQ(to_graph_def(h), bytes);
  EXPECT_EQ(h.find("AddN")->device(), "/job:ps/task:0");
  EXPECT_THAT(h.find("Assign")->attrs().get<std::vector<std::string>>("_class"),
              ElementsAre("loc:@v"));
  EXPECT_EQ(h.unique_name("addn"), "addn_1");
}

TEST(GraphDef, HoldsShapesOnRequestAndDoesNotBelieveThem) {
  Graph g(test_catalog()), h(test_catalog());
  placeholder(g, {2, -1});
  pb::GraphDef def;
  ASSERT_TRUE(def.ParseFromString(to_graph_def(g, 0, true)));
  auto& shapes = *def.mutable_node(0)->mutable_attr();
  EXPECT_EQ(shapes["_output_shapes"].list().shape(0).dim(1).size(), -1);
  shapes["_output_shapes"].mutable_list()->mutable_shape(0)->mutable_dim(1)->set_size(5);
  EXPECT_EQ(from_graph_def(h, def.SerializeAsString())[0]->output_shape(0), (Shape{2, -1}));
  EXPECT_FALSE(h.node(0).attrs().has("_output_shapes"));
}

TEST(GraphDef, NodesMayComeInAnyOrder) {
  pb::GraphDef def;
  add_def(def, "c", "Identity", {"b:0"});
  add_def(def, "b", "Identity", {"a", "^d"});
  add_placeholder(def, "a");
  add_def(def, "d", "NoOp");
  Graph g(test_catalog());
  std::vector<Node*> nodes = from_graph_def(g, def.SerializeAsString());
  EXPECT_EQ(nodes[0]->name(), "c");
  EXPECT_THAT(node_texts(g),
              ElementsAre("Placeholder a()", "NoOp d()", "Identity b(a:0, ^d)", "Identity c(b:0)"));
  EXPECT_THAT(error_of([&] {
                from_graph_def(g, def.SerializeAsString(), {.prefix = "p", .trusted_order = true});
              }),
              HasSubstr("do not come after"));
}

TEST(GraphDef, PrefixAndInputMapApply) {
  Graph g(test_catalog()), h(test_catalog());
  Output y = g.add("Identity", {placeholder(g, {2})}, {}, "y");
  auto with_y = g.colocate_with(y.node);
  g.add("Identity", {y}, {}, "z");
  Output mine = placeholder(h, {7}, "mine");
  from_graph_def(h, to_graph_def(g), {.prefix = "import", .input_map = {{"x:0", mine}}});
  EXPECT_EQ(h.output("import/y:0").shape(), Shape{7});
  EXPECT_THAT(h.find("import/z")->attrs().get<std::vector<std::string>>("_class"),
              ElementsAre("loc:@import/y"));
}

TEST(GraphDef, AMappedNameThatIsNotThereIsRefused) {
  Graph g(test_catalog()), h(test_catalog());
  g.add("Identity", {placeholder(g, {2})}, {}, "y");
  Output mine = placeholder(h, {2}, "mine");
  EXPECT_THAT(error_of([&] {
                from_graph_def(h, to_graph_def(g), {.input_map = {{"xx:0", mine}}});
              }),
              HasSubstr("'xx:0'"));
  EXPECT_EQ(h.size(), 1);
}

TEST(GraphDef, AMappedInputMayNameNoNode) {
  pb::GraphDef def;
  add_def(def, "y", "Identity", {"x"});
  Graph h(test_catalog());
  Output mine = placeholder(h, {7}, "mine");
  from_graph_def(h, def.SerializeAsString(), {.prefix = "p", .input_map = {{"x:0", mine}}});
  EXPECT_EQ(h.output("p/y:0").shape(), Shape{7});
}

TEST(GraphDef, ContinuesAGraphThatIsThere) {
  Graph g(test_catalog()), h(test_catalog());
  build_sample(g);
  from_graph_def(h, to_graph_def(g));
  int before = g.size();
  {
    auto controls = g.control_dependencies({g.find("v")});
    g.add("AddN", {g.output("split:1"), g.output("split:0")}, {}, "sum");
  }
  std::string more = to_graph_def(g, before);
  EXPECT_THAT(error_of([&] { from_graph_def(h, more); }), HasSubstr("is not in the graph"));
  ImportOptions options;
  options.extends = true;
  from_graph_def(h, more, options);
  EXPECT_EQ(node_texts(h), node_texts(g));
  EXPECT_THAT(error_of([&] { from_graph_def(h, more, options); }), HasSubstr("sum"));
  EXPECT_EQ(h.size(), g.size());
}

TEST(GraphDef, NamesTheNodeThatIsWrong) {
  pb::GraphDef unknown_op, missing, twice, count, index, type, late;
  add_def(unknown_op, "n", "Identitty");
  EXPECT_THAT(import_error(unknown_op), AllOf(HasSubstr("'n'"), HasSubstr("nearest are Identity")));
  add_def(missing, "n", "Identity", {"ghost:0"});
  EXPECT_THAT(import_error(missing), AllOf(HasSubstr("Identity 'n'"), HasSubstr("'ghost:0'")));
  add_def(twice, "n", "NoOp");
  add_def(twice, "n", "NoOp");
  EXPECT_THAT(import_error(twice), HasSubstr("two nodes have the name 'n'"));
  add_def(count, "n", "Identity");
  EXPECT_THAT(import_error(count), HasSubstr("takes 1"));
  add_placeholder(index, "a");
  add_def(index, "n", "Identity", {"a:7"});
  EXPECT_THAT(import_error(index),
              AllOf(HasSubstr("'n'"), HasSubstr("output 7 of 'a', which has 1")));
  add_placeholder(late, "a");
  add_def(late, "n", "Identity", {"^a", "a"});
  EXPECT_THAT(import_error(late), HasSubstr("after a control input"));
}

TEST(GraphDef, NamesTheAttrThatIsWrong) {
  auto with_attr = [](const std::string& name, auto set) {
    pb::GraphDef def;
    pb::NodeDef& node = add_placeholder(def, "a");
    set((*node.mutable_attr())[name]);
    return import_error(def);
  };
  EXPECT_THAT(with_attr("dtype", [](auto& a) { a.set_i(1); }),
              AllOf(HasSubstr("Placeholder 'a'"), HasSubstr("attr 'dtype'"),
                    HasSubstr("kind type, not int")));
  EXPECT_THAT(with_attr("dtype", [](auto& a) { a.set_type(pb::DataType(77)); }),
              HasSubstr("type number 77"));
  EXPECT_THAT(with_attr("dtype", [](auto& a) { a.Clear(); }), HasSubstr("no value"));
  EXPECT_THAT(with_attr("other", [](auto& a) { a.set_b(true); }), HasSubstr("no attr 'other'"));
  EXPECT_THAT(with_attr("_f", [](auto& a) { a.mutable_func()->set_name("f"); }),
              HasSubstr("functions"));
  EXPECT_THAT(with_attr("_class", [](auto& a) { a.set_i(1); }), HasSubstr("not a list of strings"));
  EXPECT_THAT(with_attr("shape", [](auto& a) { a.mutable_shape()->add_dim()->set_size(-7); }),
              HasSubstr("-7"));
  EXPECT_THAT(with_attr("shape",
                        [](auto& a) {
                          for (int i = 0; i < 99; ++i) a.mutable_shape()->add_dim();
                        }),
              HasSubstr("99 dimensions"));
}

TEST(GraphDef, NamesTheNodesOfACycle) {
  pb::GraphDef def;
  add_def(def, "outside", "Identity", {"a"});
  add_def(def, "a", "Identity", {"b"});
  add_def(def, "b", "Identity", {"a"});
  EXPECT_THAT(import_error(def), AllOf(HasSubstr("cycle"), HasSubstr("'a' <- 'b' <- 'a'")));
}

TEST(GraphDef, SurvivesBrokenBytes) {
  Graph g(test_catalog());
  build_sample(g);
  const std::string good = to_graph_def(g, 0, true);
  std::mt19937 random(7);
  int imported = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (int edits = 1 + int(random() % 4); edits > 0; --edits)
      bytes[random() % bytes.size()] = char(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    Graph h(test_catalog());
    if (error_of([&] { from_graph_def(h, bytes); }).empty()) ++imported;
  }
  EXPECT_GT(imported, 0);
}

TEST(TensorProto, ComesBackAsItWas) {
  auto half = Tensor(DType::kHalf, {2});
  half.data<uint16_t>()[0] = 0x3c00;
  half.data<uint16_t>()[1] = 0x7c00;
  for (const Tensor& t : {Tensor::scalar(1.5f), Tensor::of<int64_t>({2, 2}, {1, -2, 3, 4}), half,
                          Tensor::of<std::string>({2}, {std::string("a\0b", 3), ""}),
                          Tensor(DType::kFloat, {0, 3}), Tensor::of<bool>({2}, {true, false})}) {
    EXPECT_TRUE(from_tensor_proto(to_tensor_proto(t)).equals(t)) << t.text();
  }
}

TEST(TensorProto, AShortListRepeatsItsLastValue) {
  pb::TensorProto proto;
  proto.set_dtype(pb::DT_INT16);
  proto.mutable_tensor_shape()->add_dim()->set_size(4);
  EXPECT_TRUE(
      from_tensor_proto(proto.SerializeAsString()).equals(Tensor::of<int16_t>({4}, {0, 0, 0, 0})));
  proto.add_int_val(3);
  proto.add_int_val(-5);
  EXPECT_TRUE(from_tensor_proto(proto.SerializeAsString())
                  .equals(Tensor::of<int16_t>({4}, {3, -5, -5, -5})));
  for (int i = 0; i < 3; ++i) proto.add_int_val(i);
  EXPECT_THAT(error_of([&] { from_tensor_proto(proto.SerializeAsString()); }),
              HasSubstr("given 5 values"));
}

TEST(TensorProto, SizesAreCheckedBeforeMemoryIsTaken) {
  auto error_for = [](pb::DataType dtype, std::vector<int64_t> dims, const std::string& content) {
    pb::TensorProto proto;
    proto.set_dtype(dtype);
    for (int64_t dim : dims) proto.mutable_tensor_shape()->add_dim()->set_size(dim);
    proto.set_tensor_content(content);
    return error_of([&] { from_tensor_proto(proto.SerializeAsString()); });
  };
  EXPECT_THAT(error_for(pb::DT_FLOAT, {1ll << 58}, "abcd"),
              HasSubstr("4 bytes do not make a tensor"));
  EXPECT_THAT(error_for(pb::DT_FLOAT, {1ll << 40}, ""), HasSubstr("ResourceExhausted"));
  EXPECT_THAT(error_for(pb::DT_STRING, {1ll << 40}, ""), HasSubstr("ResourceExhausted"));
  EXPECT_THAT(error_for(pb::DT_FLOAT, {1ll << 40, 1ll << 40}, ""), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error_for(pb::DT_FLOAT, {-1}, ""), HasSubstr("cannot have the shape"));
  EXPECT_THAT(error_for(pb::DT_RESOURCE, {1}, ""), HasSubstr("resource"));
  EXPECT_THAT(error_of([] { from_tensor_proto("\xff\xff"); }), HasSubstr("not a TensorProto"));
}

TEST(TensorProto, BytesOfBoolsBecomeTrueBools) {
  pb::TensorProto proto;
  proto.set_dtype(pb::DT_BOOL);
  proto.mutable_tensor_shape()->add_dim()->set_size(2);
  proto.set_tensor_content(std::string("\x07\x00", 2));
  EXPECT_TRUE(
      from_tensor_proto(proto.SerializeAsString()).equals(Tensor::of<bool>({2}, {true, false})));
}

}  // namespace
}  // namespace capstan::testing
