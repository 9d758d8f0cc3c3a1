#include "graph/graph_def.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "graph/proto_convert.h"

namespace capstan {
namespace {

// The version that TensorFlow 1's last releases write; all later ones read it.
constexpr int kProducer = 134;
constexpr int kMinConsumer = 12;

std::string input_text(const Output& input) {
  return input.index == 0 ? input.node->name() : input.name();
}

void write_output_shapes(const Node& node, pb::NodeDef* out) {
  auto* list = (*out->mutable_attr())["_output_shapes"].mutable_list();
  for (int i = 0; i < node.outputs(); ++i) write_shape(node.output_shape(i), list->add_shape());
}

void write_node(const Node& node, bool add_shapes, pb::NodeDef* out) {
  out->set_name(node.name());
  out->set_op(std::string(node.op()));
  out->set_device(node.device());
  for (const Output& input : node.inputs()) out->add_input(input_text(input));
  for (const Node* before : node.control_inputs()) out->add_input("^" + before->name());
  for (const auto& [name, value] : node.attrs()) write_attr(value, &(*out->mutable_attr())[name]);
  if (add_shapes && node.outputs()) write_output_shapes(node, out);
}

}  // namespace

std::string to_graph_def(const Graph& graph, int from, bool add_shapes) {
  pb::GraphDef def;
  def.mutable_versions()->set_producer(kProducer);
  def.mutable_versions()->set_min_consumer(kMinConsumer);
  for (int id = from; id < graph.size(); ++id)
    write_node(graph.node(id), add_shapes, def.add_node());

  // Attrs in one order: equal graphs give equal bytes.
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!def.SerializeToCodedStream(&coded)) {
    throw resource_exhausted("the graph does not fit into a GraphDef, whose limit is 2 GB");
  }
  coded.Trim();
  return bytes;
}

}  // namespace capstan
