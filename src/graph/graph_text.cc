#include "graph/graph_text.h"

#include <cmath>
#include <map>

#include "base/error.h"
#include "proto/graph.pb.h"

namespace capstan {
namespace {

class Printer {
 public:
  std::string take() { return std::move(out_); }

  template <class Body>
  void message(std::string_view name, Body body) {
    line(name, "{", " ");
    ++depth_;
    body();
    --depth_;
    line("", "}", "");
  }
  void bytes(std::string_view name, std::string_view value) {
    out_.append(size_t(2 * depth_), ' ').append(name).append(": \"");
    for (char c : value) escaped(c);
    out_ += "\"\n";
  }
  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) bytes(name, value);
  }
  template <class T>
  void number(std::string_view name, T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return line(name, "nan", ": ");
    }
    line(name, fmt::format("{}", value), ": ");
  }
  template <class List>
  void numbers(std::string_view name, const List& values) {
    for (auto value : values) number(name, value);
  }
  template <class List>
  void strings(std::string_view name, const List& values) {
    for (const auto& value : values) bytes(name, value);
  }
  void type(std::string_view name, pb::DataType value) {
    const std::string& known = pb::DataType_Name(value);
    line(name, known.empty() ? std::to_string(int(value)) : known, ": ");
  }

 private:
  void line(std::string_view name, std::string_view value, std::string_view between) {
    out_.append(size_t(2 * depth_), ' ').append(name).append(between).append(value) += '\n';
  }
  void escaped(char c) {
    switch (c) {
      case '\n': out_ += "\\n"; return;
      case '\r': out_ += "\\r"; return;
      case '\t': out_ += "\\t"; return;
      case '"': out_ += "\\\""; return;
      case '\'': out_ += "\\'"; return;
      case '\\': out_ += "\\\\"; return;
      default: break;
    }
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      out_ += c;
    else
      out_ += fmt::format("\\{:03o}", byte);
  }

  std::string out_;
  int depth_ = 0;
};

void print_shape(Printer& p, const pb::TensorShapeProto& shape) {
  for (const auto& dim : shape.dim()) {
    p.message("dim", [&] {
      if (dim.size() != 0) p.number("size", dim.size());
      p.text("name", dim.name());
    });
  }
  if (shape.unknown_rank()) p.number("unknown_rank", true);
}

void print_tensor(Printer& p, const pb::TensorProto& tensor) {
  if (tensor.dtype() != pb::DT_INVALID) p.type("dtype", tensor.dtype());
  if (tensor.has_tensor_shape())
    p.message("tensor_shape", [&] { print_shape(p, tensor.tensor_shape()); });
  p.text("tensor_content", tensor.tensor_content());
  p.numbers("float_val", tensor.float_val());
  p.numbers("double_val", tensor.double_val());
  p.numbers("int_val", tensor.int_val());
  p.strings("string_val", tensor.string_val());
  p.numbers("scomplex_val", tensor.scomplex_val());
  p.numbers("int64_val", tensor.int64_val());
  p.numbers("bool_val", tensor.bool_val());
  p.numbers("dcomplex_val", tensor.dcomplex_val());
  p.numbers("half_val", tensor.half_val());
  p.numbers("uint32_val", tensor.uint32_val());
  p.numbers("uint64_val", tensor.uint64_val());
}

void print_attrs(Printer& p, const google::protobuf::Map<std::string, pb::AttrValue>& attrs);

void print_function(Printer& p, const pb::NameAttrList& function) {
  p.text("name", function.name());
  print_attrs(p, function.attr());
}

void print_list(Printer& p, const pb::AttrValue::ListValue& list) {
  p.strings("s", list.s());
  p.numbers("i", list.i());
  p.numbers("f", list.f());
  p.numbers("b", list.b());
  for (int type : list.type()) p.type("type", pb::DataType(type));
  for (const auto& shape : list.shape()) p.message("shape", [&] { print_shape(p, shape); });
  for (const auto& tensor : list.tensor()) p.message("tensor", [&] { print_tensor(p, tensor); });
  for (const auto& function : list.func()) p.message("func", [&] { print_function(p, function); });
}

void print_value(Printer& p, const pb::AttrValue& value) {
  switch (value.value_case()) {
    case pb::AttrValue::kList: return p.message("list", [&] { print_list(p, value.list()); });
    case pb::AttrValue::kS: return p.bytes("s", value.s());
    case pb::AttrValue::kI: return p.number("i", value.i());
    case pb::AttrValue::kF: return p.number("f", value.f());
    case pb::AttrValue::kB: return p.number("b", value.b());
    case pb::AttrValue::kType: return p.type("type", value.type());
    case pb::AttrValue::kShape: return p.message("shape", [&] { print_shape(p, value.shape()); });
    case pb::AttrValue::kTensor:
      return p.message("tensor", [&] { print_tensor(p, value.tensor()); });
    case pb::AttrValue::kPlaceholder: return p.bytes("placeholder", value.placeholder());
    case pb::AttrValue::kFunc: return p.message("func", [&] { print_function(p, value.func()); });
    case pb::AttrValue::VALUE_NOT_SET: return;
  }
}

void print_attrs(Printer& p, const google::protobuf::Map<std::string, pb::AttrValue>& attrs) {
  std::map<std::string_view, const pb::AttrValue*> sorted;
  for (const auto& [name, value] : attrs) sorted.emplace(name, &value);
  for (const auto& [name, value] : sorted) {
    p.message("attr", [&, key = name, attr = value] {
      p.text("key", key);
      p.message("value", [&] { print_value(p, *attr); });
    });
  }
}

void print_node(Printer& p, const pb::NodeDef& node) {
  p.text("name", node.name());
  p.text("op", node.op());
  p.strings("input", node.input());
  p.text("device", node.device());
  print_attrs(p, node.attr());
}

}  // namespace

std::string graph_text(std::string_view graph_def) {
  pb::GraphDef graph;
  if (!graph.ParseFromArray(graph_def.data(), int(graph_def.size())))
    throw data_loss("these bytes are no GraphDef");
  Printer p;
  for (const pb::NodeDef& node : graph.node()) p.message("node", [&] { print_node(p, node); });
  if (graph.has_versions()) {
    p.message("versions", [&] {
      if (graph.versions().producer() != 0) p.number("producer", graph.versions().producer());
      if (graph.versions().min_consumer() != 0)
        p.number("min_consumer", graph.versions().min_consumer());
    });
  }
  return p.take();
}

}  // namespace capstan
