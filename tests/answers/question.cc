#include "answers/question.h"

namespace capstan {
namespace {

// The first element that differs, for a message.
std::string first_difference(const Tensor& got, const Tensor& wanted) {
  if (got.dtype() != wanted.dtype() || !(got.shape() == wanted.shape())) {
    return fmt::format("{} {} instead of {} {}", dtype_name(got.dtype()), got.shape(),
                       dtype_name(wanted.dtype()), wanted.shape());
  }
  const size_t size = dtype_size(got.dtype());
  int64_t at = 0;
  while (at < got.size() && got.dtype() != DType::kString &&
         std::memcmp(got.data<char>() + size_t(at) * size, wanted.data<char>() + size_t(at) * size,
                     size) == 0) {
    ++at;
  }
  return fmt::format("{} {}, from element {}: {} instead of {}", dtype_name(got.dtype()),
                     got.shape(), at, got.text(64), wanted.text(64));
}

}  // namespace

Output Question::add_fed(const Tensor& value, const Shape& declared) {
  Output made =
      graph.add("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", declared}}, "fed");
  interpreter.feed(made, value);
  feeds.emplace_back(made, value);
  return made;
}

Output Question::add_variable(const Tensor& value) {
  Output made = graph.add("VariableV2", {}, {{"dtype", value.dtype()}, {"shape", value.shape()}});
  interpreter.set_variable(*made.node, value);
  variables.emplace_back(made, value);
  return made;
}

Output Question::add(const Tensor& value, Origin origin) {
  switch (origin) {
    case Origin::kConstant: return graph.constant(value);
    case Origin::kFed: return add_fed(value, value.shape());
    case Origin::kFedUndeclared: return add_fed(value, Shape::unknown());
    case Origin::kComputed: return add("IdentityN", {add_fed(value, value.shape())});
    case Origin::kVariable: return add("Identity", {add_variable(value)});
  }
  return {};
}

Output Question::shape_constant(std::span<const int64_t> dims) {
  return graph.constant(Tensor::of<int64_t>(Shape{int64_t(dims.size())}, dims));
}

Output Question::detour(Output value, Detour way) {
  const Shape shape = interpreter.value(value).shape();
  const int64_t flat[] = {-1};
  switch (way) {
    case Detour::kNone: return value;
    case Detour::kIdentity: return add("Identity", {value});
    case Detour::kReshape:
      return add("Reshape", {add("Reshape", {value, shape_constant(std::array{shape.elements()})}),
                             shape_constant(shape.dims())});
    case Detour::kComputedReshape:
      return add("Reshape", {add("Reshape", {value, shape_constant(flat)}),
                             add("IdentityN", {add("Shape", {value})})});
    case Detour::kExpandDims: {
      if (shape.rank() == Shape::kMaxRank) return value;
      Output wide = add("ExpandDims", {value, graph.constant(Tensor::scalar<int32_t>(0))});
      return add("Squeeze", {wide}, {{"squeeze_dims", std::vector<int64_t>{0}}});
    }
    case Detour::kPrint: return add("Print", {value, value}, {{"first_n", int64_t{0}}});
    case Detour::kDefault: return add("PlaceholderWithDefault", {value}, {{"shape", shape}});
    case Detour::kAnyDefault:
      return add("PlaceholderWithDefault", {value}, {{"shape", Shape::unknown()}});
  }
  return value;
}

std::vector<Tensor> Question::answer() {
  std::vector<Tensor> values;
  for (Output fetch : fetches) values.push_back(interpreter.value(fetch));
  return values;
}

std::string Question::difference(std::span<const Tensor> values) {
  const std::vector<Tensor> wanted = answer();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (values[i].equals(wanted[i])) continue;
    return fmt::format("{} ({}) is {}", fetches[i].name(), fetches[i].node->op(),
                       first_difference(values[i], wanted[i]));
  }
  return {};
}

}  // namespace capstan
