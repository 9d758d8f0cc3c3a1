#include "build/basics.h"

#include <algorithm>

namespace capstan {
namespace {

Tensor shape_vector(const Shape& shape) {
  Tensor t(DType::kInt32, {shape.rank()});
  for (int i = 0; i < shape.rank(); ++i) t.data<int32_t>()[i] = int32_t(shape[i]);
  return t;
}

Tensor int_vector(std::initializer_list<int32_t> values) {
  return Tensor::of<int32_t>({int64_t(values.size())}, values);
}

// x[begin:end] of a vector, as Python's slicing writes it.
Output strided_slice(Graph& g, Output x, int32_t begin, int32_t end, int64_t begin_mask,
                     int64_t end_mask) {
  std::string name = g.unique_name("strided_slice");
  Output stack = g.constant(int_vector({begin}), name + "/stack/");
  Output stack_1 = g.constant(int_vector({end}), name + "/stack_1/");
  Output stack_2 = g.constant(int_vector({1}), name + "/stack_2/");
  return g.add("StridedSlice", {x, stack, stack_1, stack_2},
               {{"begin_mask", begin_mask}, {"end_mask", end_mask}}, name + "/");
}

// tf.boolean_mask of a vector by a vector.
Output boolean_mask(Graph& g, Output values, Output mask, int32_t count) {
  auto scope = g.name_scope("boolean_mask");
  Output shape = g.constant(int_vector({count}), "Shape");
  Output leading = strided_slice(g, shape, 0, 1, 0, 0);
  Output axes = g.constant(int_vector({0}), "Prod/reduction_indices");
  Output size = g.add("Prod", {leading, axes}, {{"keep_dims", false}}, "Prod");
  Output before = strided_slice(g, g.constant(int_vector({count}), "Shape_1"), 0, 0, 1, 0);
  Output after = strided_slice(g, g.constant(int_vector({count}), "Shape_2"), 1, 0, 0, 1);
  Output packed = g.add("Pack", {size}, {{"axis", int64_t(0)}}, "concat/values_1");
  Output axis = g.constant(Tensor::scalar<int32_t>(0), "concat/axis");
  Output flat_shape = g.add("ConcatV2", {before, packed, after, axis}, {}, "concat");
  Output flat = g.add("Reshape", {values, flat_shape}, {}, "Reshape");
  Output any = g.constant(int_vector({-1}), "Reshape_1/shape");
  Output flat_mask = g.add("Reshape", {mask, any}, {}, "Reshape_1");
  Output where = g.add("Where", {flat_mask}, {}, "Where");
  Output indices =
      g.add("Squeeze", {where}, {{"squeeze_dims", std::vector<int64_t>{1}}}, "Squeeze");
  Output zero = g.constant(Tensor::scalar<int32_t>(0), "GatherV2/axis");
  return g.add("GatherV2", {flat, indices, zero}, {}, "GatherV2");
}

}  // namespace

Tensor filled(DType dtype, const Shape& shape, double value) {
  Tensor t(dtype, shape);
  auto put = [&]<class T>(T v) { std::fill_n(t.data<T>(), t.size(), v); };
  switch (dtype) {
    case DType::kFloat: put(float(value)); break;
    case DType::kDouble: put(value); break;
    case DType::kInt32: put(int32_t(value)); break;
    case DType::kInt64: put(int64_t(value)); break;
    case DType::kBool: put(value != 0); break;
    case DType::kUInt8: put(uint8_t(value)); break;
    case DType::kInt16: put(int16_t(value)); break;
    case DType::kInt8: put(int8_t(value)); break;
    case DType::kString: break;
    default: throw invalid_argument("cannot fill a tensor of type {}", dtype_name(dtype));
  }
  return t;
}

Tensor scalar_of(DType dtype, double value) { return filled(dtype, {}, value); }

Output zeros(Graph& graph, const Shape& shape, DType dtype, std::string_view name) {
  constexpr int64_t kSmall = 1000;
  if (shape.elements() < kSmall) return graph.constant(filled(dtype, shape, 0), name);
  auto scope = graph.name_scope(name);
  std::string full = graph.current_scope() + "/";
  Output dims = graph.constant(shape_vector(shape), "shape_as_tensor");
  Output zero = graph.constant(scalar_of(dtype, 0), "Const");
  return graph.add("Fill", {dims, zero}, {}, full);
}

Output fill(Graph& graph, const Shape& dims, Output value, std::string_view name) {
  std::string full = graph.unique_name(name);
  Output shape = graph.constant(shape_vector(dims), full + "/dims/");
  return graph.add("Fill", {shape, value}, {}, full + "/");
}

Output report_uninitialized(Graph& g, std::span<const Output> references, std::string_view name) {
  auto scope = g.name_scope(name);
  std::vector<Output> flags;
  for (const Output& ref : references) {
    auto with = g.colocate_with(ref.node);
    flags.push_back(g.add("IsVariableInitialized", {ref}, {{"dtype", ref.dtype()}}));
  }
  auto device = g.device("/cpu:0");
  if (flags.empty()) return g.constant(Tensor(DType::kString, {0}), "Const");
  Output stacked = g.add("Pack", flags, {{"axis", int64_t(0)}}, "stack");
  Output mask = g.add("LogicalNot", {stacked});
  Tensor names(DType::kString, {int64_t(flags.size())});
  for (size_t i = 0; i < flags.size(); ++i)
    names.data<std::string>()[i] = references[i].node->name();
  Output values = g.constant(std::move(names), "Const");
  return boolean_mask(g, values, mask, int32_t(flags.size()));
}

}  // namespace capstan
