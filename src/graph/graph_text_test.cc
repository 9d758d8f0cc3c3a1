#include "graph/graph_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "proto/graph.pb.h"

namespace capstan {
namespace {

pb::GraphDef one_node() {
  pb::GraphDef graph;
  pb::NodeDef& node = *graph.add_node();
  node.set_name("c");
  node.set_op("Const");
  node.add_input("^before");
  return graph;
}

TEST(GraphText, IsWhatProtobufPrints) {
  pb::GraphDef graph = one_node();
  auto& attrs = *graph.mutable_node(0)->mutable_attr();
  attrs["dtype"].set_type(pb::DT_FLOAT_REF);
  attrs["a_shape"].mutable_shape()->add_dim()->set_size(-1);
  graph.mutable_versions()->set_producer(24);
  EXPECT_EQ(graph_text(graph.SerializeAsString()),
            "node {\n"
            "  name: \"c\"\n"
            "  op: \"Const\"\n"
            "  input: \"^before\"\n"
            "  attr {\n"
            "    key: \"a_shape\"\n"
            "    value {\n"
            "      shape {\n"
            "        dim {\n"
            "          size: -1\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "  attr {\n"
            "    key: \"dtype\"\n"
            "    value {\n"
            "      type: DT_FLOAT_REF\n"
            "    }\n"
            "  }\n"
            "}\n"
            "versions {\n"
            "  producer: 24\n"
            "}\n");
}

TEST(GraphText, EscapesBytesAndKeepsNumbersExact) {
  pb::GraphDef graph = one_node();
  auto& attrs = *graph.mutable_node(0)->mutable_attr();
  attrs["s"].set_s(std::string("a\"\n\0\xff", 5));
  attrs["f"].set_f(0.1f);
  attrs["list"].mutable_list()->add_f(-std::numeric_limits<float>::infinity());
  attrs["list"].mutable_list()->add_b(true);
  attrs["tensor"].mutable_tensor()->add_float_val(std::numeric_limits<float>::quiet_NaN());
  std::string text = graph_text(graph.SerializeAsString());
  EXPECT_THAT(text, testing::HasSubstr("s: \"a\\\"\\n\\000\\377\"\n"));
  EXPECT_THAT(text, testing::HasSubstr("f: 0.1\n"));
  EXPECT_THAT(text, testing::HasSubstr("f: -inf\n"));
  EXPECT_THAT(text, testing::HasSubstr("b: true\n"));
  EXPECT_THAT(text, testing::HasSubstr("float_val: nan\n"));
}

TEST(GraphText, RefusesOtherBytes) { EXPECT_THROW(graph_text("\x0a\xff"), Error); }

}  // namespace
}  // namespace capstan
