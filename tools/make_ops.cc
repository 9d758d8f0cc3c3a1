// make_ops FILE: writes capstan/ops.h, one C++ function per row of the catalog, so that C++ reaches
// what Python reaches.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "graph/attr_kind.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

constexpr std::string_view kHead = R"(#pragma once

// Every op as a function that adds its node: inputs, then attrs, then the node's name. Attrs that follow from the
// inputs are not asked for. Made from the rows of src/ops.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace capstan::ops {

namespace detail {

using Inputs = std::span<const Output>;

inline std::vector<Output> joined(std::initializer_list<Inputs> parts) {
  std::vector<Output> all;
  for (Inputs part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline Graph& graph_of(const std::vector<Output>& inputs, std::string_view op) {
  if (inputs.empty()) throw invalid_argument("{} needs an input", op);
  return inputs.front().graph();
}

inline std::vector<Output> outputs_of(Node& node) {
  std::vector<Output> all;
  for (int i = 0; i < node.outputs(); ++i) all.push_back(node.output(i));
  return all;
}

}  // namespace detail

)";

// Words that C++ has taken, and a macro.
const std::set<std::string, std::less<>> kTaken = {"assert", "case",   "const", "default",  "do",
                                                   "switch", "return", "this",  "namespace"};

std::string free_name(std::string name) { return kTaken.contains(name) ? name + "_" : name; }

bool is_upper(char c) { return std::isupper(uint8_t(c)) != 0; }

// "MatMul" as mat_mul, "ConcatV2" as concat_v2, "L2Loss" as l2_loss, "TFRecord" as tf_record.
std::string snake(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool begins =
        i > 0 && is_upper(name[i]) &&
        (!is_upper(name[i - 1]) || (i + 1 < name.size() && std::islower(uint8_t(name[i + 1]))));
    if (begins && out.back() != '_') out += '_';
    out += char(std::tolower(uint8_t(name[i])));
  }
  return free_name(out);
}

std::string cpp_type(std::string_view kind) {
  if (kind.starts_with("list(")) {
    return fmt::format("std::vector<{}>", cpp_type(kind.substr(5, kind.find(')') - 5)));
  }
  if (kind == "type") return "DType";
  if (kind == "int") return "int64_t";
  if (kind == "string") return "std::string";
  if (kind == "shape") return "Shape";
  if (kind == "tensor") return "Tensor";
  return std::string(kind);  // bool, float
}

std::string cpp_type_name(DType dtype) {
  const std::string name(dtype_name(dtype));
  static const std::vector<std::pair<std::string, std::string>> kNames = {
      {"float32", "kFloat"}, {"float64", "kDouble"}, {"float", "kFloat"},
      {"double", "kDouble"}, {"int8", "kInt8"},      {"int16", "kInt16"},
      {"int32", "kInt32"},   {"int64", "kInt64"},    {"uint8", "kUInt8"},
      {"uint16", "kUInt16"}, {"uint32", "kUInt32"},  {"uint64", "kUInt64"},
      {"bool", "kBool"},     {"string", "kString"},  {"resource", "kResource"}};
  for (const auto& [text, cpp] : kNames) {
    if (text == name) return "DType::" + cpp;
  }
  throw internal_error("make_ops does not know the type {}", name);
}

// A default as C++ writes it.
struct Literal {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const {
    const std::string text = fmt::format("{}", value);
    return text + (text.find_first_of(".e") == text.npos ? ".0f" : "f");
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(DType value) const { return cpp_type_name(value); }
  std::string operator()(const Shape& value) const {
    if (!value.known_rank()) return "Shape::unknown()";
    return fmt::format("Shape{{{}}}", fmt::join(value.dims(), ", "));
  }
  std::string operator()(const Tensor&) const { throw internal_error("a tensor is no default"); }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::vector<std::string> items;
    for (const T& value : values) items.push_back((*this)(value));
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }
};

class OpFunction {
 public:
  explicit OpFunction(const OpDef& def) : def_(def) {
    if (!def.inputs.size()) parameters_.push_back("Graph& graph");
    for (const ArgDef& arg : def.inputs) add_input(arg);
    for (const AttrDef& attr : def.attrs) {
      if (!follows(attr) && !default_attr(attr)) add_attr(attr, "");
    }
    for (const AttrDef& attr : def.attrs) {
      const std::optional<Attr> value = default_attr(attr);
      if (!follows(attr) && value) add_attr(attr, " = " + std::visit(Literal(), *value));
    }
    parameters_.push_back("std::string_view name = {}");
  }

  std::string text() const {
    std::string out = fmt::format("// {}\ninline {} {}({}) {{\n", def_.doc, result(),
                                  snake(def_.name), fmt::join(parameters_, ", "));
    if (!def_.inputs.size()) {
      out += fmt::format("  Node& made = graph.add_node(\"{}\", {{}}, {{{}}}, name);\n", def_.name,
                         attrs());
    } else {
      out += fmt::format("  const std::vector<Output> given = detail::joined({{{}}});\n",
                         fmt::join(inputs_, ", "));
      out += fmt::format(
          "  Node& made = detail::graph_of(given, \"{0}\").add_node(\"{0}\", given, {{{1}}}, "
          "name);\n",
          def_.name, attrs());
    }
    return out + fmt::format("  return {};\n}}\n\n", returned());
  }

 private:
  void add_input(const ArgDef& arg) {
    const ArgType type = arg_type(def_, arg);
    const std::string name = free_name(std::string(arg.name));
    parameters_.push_back(fmt::format("{} {}", type.is_list() ? "detail::Inputs" : "Output", name));
    inputs_.push_back(type.is_list() ? name : fmt::format("{{&{}, 1}}", name));
    for (std::string_view bound : {type.count_attr, type.type_attr, type.list_attr}) {
      if (!bound.empty()) bound_.insert(std::string(bound));
    }
  }

  // Whether the inputs say it.
  bool follows(const AttrDef& attr) const { return bound_.contains(attr.name); }

  void add_attr(const AttrDef& attr, const std::string& value) {
    const std::string name = free_name(std::string(attr.name) + (taken(attr.name) ? "_attr" : ""));
    parameters_.push_back(fmt::format("{} {}{}", cpp_type(base_kind(attr)), name, value));
    attrs_.push_back(fmt::format("{{\"{}\", {}}}", attr.name, name));
  }

  // Some attrs are called as an input is, or as what stands in every function.
  bool taken(std::string_view name) const {
    if (name == "name" || name == "given" || name == "made" || name == "graph") return true;
    return std::any_of(def_.inputs.begin(), def_.inputs.end(),
                       [&](const ArgDef& arg) { return arg.name == name; });
  }

  std::string attrs() const { return fmt::format("{}", fmt::join(attrs_, ", ")); }

  bool one_output() const {
    return def_.outputs.size() == 1 && !arg_type(def_, def_.outputs[0]).is_list();
  }
  std::string result() const {
    if (!def_.outputs.size()) return "Node&";
    return one_output() ? "Output" : "std::vector<Output>";
  }
  std::string returned() const {
    if (!def_.outputs.size()) return "made";
    return one_output() ? "made.output(0)" : "detail::outputs_of(made)";
  }

  const OpDef& def_;
  std::vector<std::string> parameters_, inputs_, attrs_;
  std::set<std::string, std::less<>> bound_;
};

std::string header() {
  std::vector<const OpDef*> rows;
  for (const OpDef* row : standard_catalog().all()) {
    if (!row->name.starts_with('_')) rows.push_back(row);
  }
  std::ranges::sort(rows, {}, &OpDef::name);
  std::string out(kHead);
  for (const OpDef* row : rows) out += OpFunction(*row).text();
  return out +
         fmt::format("inline constexpr int kFunctions = {};\n\n}}  // namespace capstan::ops\n",
                     rows.size());
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_ops FILE\n";
    return 2;
  }
  std::ofstream out(argv[1]);
  out << capstan::header();
  out.close();
  if (!out) {
    std::cerr << "make_ops: cannot write " << argv[1] << "\n";
    return 1;
  }
}
