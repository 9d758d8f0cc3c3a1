// Rows of a tensor by their indices.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/columns.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

namespace capstan {
namespace {

Shape gathered(const Shape& params, const Shape& indices, int axis, int batch_dims) {
  Shape out;
  for (int i = 0; i < axis; ++i) out.push_back(params[i]);
  for (int i = batch_dims; i < indices.rank(); ++i) out.push_back(indices[i]);
  for (int i = axis + 1; i < params.rank(); ++i) out.push_back(params[i]);
  return out;
}

// The axis to gather along and the leading dimensions that params and indices share.
struct GatherDims {
  int axis, batch;
};

GatherDims gather_dims(const Node& node, const Shape& params, const Shape& indices, int64_t axis,
                       int64_t batch) {
  const int at = resolve_axis(node, axis, params.rank());
  if (batch < 0) batch += indices.rank();
  if (batch < 0 || batch > indices.rank() || batch > at) {
    throw invalid_argument(
        "{} (node '{}'): {} leading dimensions are too many for indices of shape {} along axis {} "
        "of params of shape {}",
        node.op(), node.name(), batch, indices, at, params);
  }
  for (int i = 0; i < batch; ++i) {
    if (params[i] < 0 || indices[i] < 0 || params[i] == indices[i]) continue;
    throw invalid_argument(
        "{} (node '{}'): params of shape {} and indices of shape {} differ in their leading "
        "dimension {}",
        node.op(), node.name(), params, indices, i);
  }
  return {at, int(batch)};
}

void gather_along(KernelContext& c, int64_t wanted_axis, int64_t wanted_batch) {
  const Tensor &params = c.in(0), &indices = c.in(1);
  const Shape& shape = params.shape();
  const auto [axis, batch_dims] =
      gather_dims(c.node(), shape, indices.shape(), wanted_axis, wanted_batch);
  Tensor& out = c.out(0, gathered(shape, indices.shape(), axis, batch_dims));
  int64_t batches = 1, outer = 1, inner = 1, limit = shape[axis];
  for (int i = 0; i < batch_dims; ++i) batches *= shape[i];
  for (int i = batch_dims; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  int64_t count = batches ? indices.size() / batches : 0;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t o = b * outer; o < (b + 1) * outer; ++o) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t index = int_at(indices, b * count + i);
        if (index < 0 || index >= limit) {
          throw invalid_argument("{} (node '{}'): indices[{}] = {} is not in [0, {})",
                                 c.node().op(), c.node().name(), b * count + i, index, limit);
        }
        copy_elements(out.dtype(), at(out, (o * count + i) * inner),
                      at(params, (o * limit + index) * inner), inner);
      }
    }
  }
}

void gather_kernel(KernelContext& c) { gather_along(c, 0, 0); }

void gather_v2_kernel(KernelContext& c) { gather_along(c, int_at(c.in(2), 0), c.state<int64_t>()); }

void gather_v2_shape(ShapeContext& c) {
  const Shape params = c.with_rank_of_at_least(0, 1), &indices = c.in(1);
  if (!params.known_rank() || !indices.known_rank()) return c.out(0, Shape::unknown());
  // Without the axis the last one tells whether there is any that fits.
  const Tensor* axis = c.constant(2);
  const GatherDims dims = gather_dims(c.node(), params, indices, axis ? int_at(*axis, 0) : -1,
                                      c.attr<int64_t>("batch_dims"));
  const Shape shape = gathered(params, indices, dims.axis, dims.batch);
  c.out(0, axis ? shape : Shape::unknown_of_rank(shape.rank()));
}

// Rows of the gradient added up where the indices name them. TensorFlow keeps rows and indices
// apart until somebody wants a tensor; here the sum is part of the gradient.
Output rows_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output shape;
  {
    ScopeGuard together = graph.colocate_with(g.x(0).node);
    shape = shape_of(graph, g.x(0));
  }
  Output count = expand_dims(graph, size_of(graph, g.x(1)), 0);
  std::vector<Arg> parts = {count, slice_vector(graph, shape, 1, {})};
  Output values = reshape(graph, g.dy(0), concat(graph, parts, number(DType::kInt32, 0)));
  Output indices = reshape(graph, g.x(1), count);
  Output rows = gather(graph, shape, number(DType::kInt32, 0));
  return g.op("UnsortedSegmentSum", {values, indices, rows});
}

Values gather_v2_gradient(GradContext& g) {
  std::optional<Tensor> axis = constant_value(g.x(2));
  if (!axis || int_at(*axis, 0) != 0 || g.attr<int64_t>("batch_dims") != 0) {
    throw unimplemented("the gradient of GatherV2 (node '{}') along another axis than 0",
                        g.node().name());
  }
  return {rows_gradient(g), {}, {}};
}

constexpr OpDef kGather = {
    .name = "Gather",
    .doc = "The rows of params that the indices name.",
    .inputs = {{"params", "Tparams"}, {"indices", "Tindices"}},
    .outputs = {{"output", "Tparams"}},
    .attrs = {{"validate_indices", "bool", "true"},
              {"Tparams", kAnyType},
              {"Tindices", kIndexTypes}},
    .shape =
        [](ShapeContext& c) {
          const Shape params = c.with_rank_of_at_least(0, 1);
          bool known = params.known_rank() && c.in(1).known_rank();
          c.out(0, known ? gathered(params, c.in(1), 0, 0) : Shape::unknown());
        },
    .kernel = gather_kernel,
    .gradient = [](GradContext& g) -> Values {
      return {rows_gradient(g), {}};
    },
    .moves = true,
    .samples = {"float[4,3] int32[2]{3,1}"},
};

constexpr OpDef kGatherV2 = {
    .name = "GatherV2",
    .doc = "The slices of params along an axis that the indices name.",
    .inputs = {{"params", "Tparams"}, {"indices", "Tindices"}, {"axis", "Taxis", 0}},
    .outputs = {{"output", "Tparams"}},
    .attrs = {{"batch_dims", "int", "0"},
              {"Tparams", kAnyType},
              {"Tindices", kIndexTypes},
              {"Taxis", kIndexTypes}},
    .shape = gather_v2_shape,
    .kernel = gather_v2_kernel,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<int64_t>(node.attrs().get<int64_t>("batch_dims"));
    },
    .gradient = gather_v2_gradient,
    .moves = true,
    .samples = {"float[4,3] int32[2,2]{3,1,0,1} int32[]{0}", "int32[2,3] int64[2]{2,0} int32[]{1}",
                "string[3]{a,b,c} int32[2]{2,0} int32[]{0}"},
};

constexpr const OpDef* kRows[] = {&kGather, &kGatherV2};

}  // namespace

OpFamily gather_ops() { return kRows; }

}  // namespace capstan
