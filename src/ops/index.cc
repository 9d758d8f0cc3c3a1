// Ops that read or write at places named by other tensors.

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "kernel/wrapping.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"
#include "ops/window.h"

namespace capstan {
namespace {

using Kernel = void (*)(KernelContext&);
void call_state(KernelContext& c) { c.state<Kernel>()(c); }

char* at(Tensor& t, int64_t element) {
  return static_cast<char*>(t.raw()) + size_t(element) * dtype_size(t.dtype());
}
const char* at(const Tensor& t, int64_t element) {
  return static_cast<const char*>(t.raw()) + size_t(element) * dtype_size(t.dtype());
}

// --- Gather, GatherV2 ----------------------------------------------------------------------------

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
    .samples = {"float[4,3] int32[2,2]{3,1,0,1} int32[]{0}", "int32[2,3] int64[2]{2,0} int32[]{1}",
                "string[3]{a,b,c} int32[2]{2,0} int32[]{0}"},
};

// --- UnsortedSegmentSum --------------------------------------------------------------------------

// The dimensions of `data` behind `front`, which it must begin with; `what` has that shape.
Shape rest_behind(const Node& node, const Shape& data, const Shape& front, std::string_view what) {
  bool fits = front.rank() <= data.rank();
  for (int i = 0; fits && i < front.rank(); ++i)
    fits = data[i] < 0 || front[i] < 0 || data[i] == front[i];
  if (fits) return Shape(data.dims().subspan(size_t(front.rank())));
  throw invalid_argument("{} (node '{}'): data of shape {} does not begin with the shape {} of {}",
                         node.op(), node.name(), data, front, what);
}

Shape rows_of(int64_t count, const Shape& row) {
  Shape out{count};
  for (int64_t dim : row.dims()) out.push_back(dim);
  return out;
}

Shape segmented(const Node& node, const Shape& data, const Shape& ids, int64_t segments) {
  return rows_of(segments, rest_behind(node, data, ids, "segment_ids"));
}

template <class T>
void unsorted_segment_sum(KernelContext& c) {
  const Tensor &data = c.in(0), &ids = c.in(1);
  int64_t segments = int_at(c.in(2), 0);
  if (segments < 0) throw invalid_argument("num_segments is {}, which is negative", segments);
  Tensor& out = c.out(0, segmented(c.node(), data.shape(), ids.shape(), segments));
  std::fill_n(out.data<T>(), out.size(), T(0));
  int64_t width = ids.size() ? data.size() / ids.size() : 0;
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t id = int_at(ids, i);
    if (id < 0) continue;  // dropped, as in TensorFlow
    if (id >= segments)
      throw invalid_argument("segment_ids[{}] = {} is not in [0, {})", i, id, segments);
    const T* from = data.data<T>() + i * width;
    T* to = out.data<T>() + id * width;
    for (int64_t j = 0; j < width; ++j) to[j] = wrapping_add(to[j], from[j]);
  }
}

void segment_shape(ShapeContext& c) {
  const Shape &data = c.in(0), &ids = c.in(1);
  if (!data.known_rank() || !ids.known_rank()) return c.out(0, Shape::unknown());
  c.out(0, segmented(c.node(), data, ids, c.constant(2) ? int_at(*c.constant(2), 0) : -1));
}

constexpr OpDef kUnsortedSegmentSum = {
    .name = "UnsortedSegmentSum",
    .python = "unsorted_segment_sum math.unsorted_segment_sum",
    .doc = "Rows added up into the segments that segment_ids name; negative ids are dropped.",
    .inputs = {{"data", "T"}, {"segment_ids", "Tindices"}, {"num_segments", "Tnumsegments", 0}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kNumberTypes},
              {"Tindices", kIndexTypes},
              {"Tnumsegments", kIndexTypes, "int32"}},
    .shape = segment_shape,
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_number(node, node.output_type(0), [](auto tag) -> Kernel {
        return unsorted_segment_sum<typename decltype(tag)::type>;
      }));
    },
    .samples = {"float[3,2] int32[3]{1,0,1} int32[]{3}"},
};

// --- DynamicStitch, InvertPermutation ------------------------------------------------------------

Shape stitched_row(const Node& node, const Shape& indices, const Shape& data) {
  return rest_behind(node, data, indices, "its indices");
}

// Inputs: N tensors of indices, then N of data. merged[indices[m][i]] = data[m][i].
void dynamic_stitch_kernel(KernelContext& c) {
  int count = c.inputs() / 2;
  int64_t rows = 0;
  for (int m = 0; m < count; ++m) {
    for (int64_t i = 0; i < c.in(m).size(); ++i) rows = std::max(rows, int_at(c.in(m), i) + 1);
  }
  Shape row = Shape::unknown();
  for (int m = 0; m < count; ++m)
    row = row.merged_with(stitched_row(c.node(), c.in(m).shape(), c.in(count + m).shape()));
  Tensor& out = c.out(0, rows_of(rows, row));
  fill_zero(out);
  const int64_t width = row.elements();
  for (int m = 0; m < count; ++m) {
    const Tensor &indices = c.in(m), &data = c.in(count + m);
    for (int64_t i = 0; i < indices.size(); ++i) {
      int64_t row = int_at(indices, i);
      if (row < 0)
        throw invalid_argument("DynamicStitch: indices[{}][{}] = {} is negative", m, i, row);
      copy_elements(out.dtype(), at(out, row * width), at(data, i * width), width);
    }
  }
}

void dynamic_stitch_shape(ShapeContext& c) {
  int count = c.inputs() / 2;
  Shape row = Shape::unknown();
  for (int m = 0; m < count; ++m) {
    if (!c.in(m).known_rank() || !c.in(count + m).known_rank()) continue;
    row = row.merged_with(stitched_row(c.node(), c.in(m), c.in(count + m)));
  }
  if (!row.known_rank()) return c.out(0, Shape::unknown());
  int64_t rows = 0;
  for (int m = 0; m < count && rows >= 0; ++m) {
    const Tensor* known = c.constant(m);
    for (int64_t i = 0; known && i < known->size(); ++i)
      rows = std::max(rows, int_at(*known, i) + 1);
    if (!known) rows = -1;
  }
  c.out(0, rows_of(rows, row));
}

Values dynamic_stitch_gradient(GradContext& g) {
  size_t count = g.node().inputs().size() / 2;
  Values grads(count);
  for (size_t i = 0; i < count; ++i) grads.push_back(gather(g.graph(), g.dy(0), g.x(int(i))));
  return grads;
}

constexpr OpDef kDynamicStitch = {
    .name = "DynamicStitch",
    .python = "dynamic_stitch",
    .doc = "Rows of several tensors put where their indices say; later ones win.",
    .inputs = {{"indices", "N*int32"}, {"data", "N*T"}},
    .outputs = {{"merged", "T"}},
    .attrs = {{"N", "int>=1"}, {"T", kAnyType}},
    .shape = dynamic_stitch_shape,
    .kernel = dynamic_stitch_kernel,
    .gradient = dynamic_stitch_gradient,
    .samples = {"int32[2]{0,2} int32[1]{1} float[2,3] float[1,3]"},
};

void invert_permutation_kernel(KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) set_int(y, i, -1);
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t to = int_at(x, i);
    if (to < 0 || to >= x.size() || int_at(y, to) != -1) {
      throw invalid_argument("InvertPermutation: {} is not a permutation", x.text());
    }
    set_int(y, to, i);
  }
}

constexpr OpDef kInvertPermutation = {
    .name = "InvertPermutation",
    .python = "invert_permutation math.invert_permutation",
    .doc = "The permutation that undoes this one.",
    .inputs = {{"x", "T", 1}},
    .outputs = {{"y", "T"}},
    .attrs = {{"T", kIndexTypes, "int32"}},
    .shape = same_shape,
    .kernel = invert_permutation_kernel,
    .no_gradient = true,
    .samples = {"int32[4]{3,0,2,1}"},
};

// --- Where, ListDiff, Unique ---------------------------------------------------------------------

template <class T>
void where(KernelContext& c) {
  const Tensor& x = c.in(0);
  const Shape& shape = x.shape();
  if (shape.rank() == 0) throw invalid_argument("Where needs one dimension or more, not a scalar");
  const T* in = x.data<T>();
  // In one pass: a variable may change between two, and there would be more of them than room.
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (in[i] != T(0)) places.push_back(i);
  }
  Tensor& out = c.out(0, Shape{int64_t(places.size()), shape.rank()});
  int64_t* to = out.data<int64_t>();
  for (int64_t rest : places) {
    for (int d = shape.rank() - 1; d >= 0; --d, rest /= shape[d + 1]) to[d] = rest % shape[d];
    to += shape.rank();
  }
}

constexpr OpDef kWhere = {
    .name = "Where",
    .doc = "The coordinates of the elements that are true or not zero, in order.",
    .inputs = {{"input", "T"}},
    .outputs = {{"index", "int64"}},
    .attrs = {{"T", "type:float|double|int32|uint8|int16|int8|int64|uint16|uint32|uint64|bool",
               "bool"}},
    .shape =
        [](ShapeContext& c) {
          c.out(0, Shape{-1, c.in(0).known_rank() ? c.in(0).rank() : -1});
        },
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      DType dtype = node.input(0).dtype();
      if (dtype == DType::kBool) return std::make_shared<Kernel>(where<bool>);
      return std::make_shared<Kernel>(for_number(
          node, dtype, [](auto tag) -> Kernel { return where<typename decltype(tag)::type>; }));
    },
    .no_gradient = true,
    .samples = {"bool[2,2]{1,0,0,1}", "float[3]{0,2,3}"},
};

template <class T>
bool equals_itself(const T& value) {
  return value == value;  // NOLINT(misc-redundant-expression): false for a NaN
}

template <class T>
void list_diff(KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  const T *xs = x.data<T>(), *ys = y.data<T>();
  std::unordered_set<T> dropped;
  // A NaN equals nothing, so there is none to drop.
  std::copy_if(ys, ys + y.size(), std::inserter(dropped, dropped.end()), equals_itself<T>);
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (!dropped.contains(xs[i])) kept.push_back(i);
  }
  Shape shape{int64_t(kept.size())};
  Tensor &out = c.out(0, shape), &idx = c.out(1, shape);
  for (size_t i = 0; i < kept.size(); ++i) {
    out.data<T>()[i] = xs[kept[i]];
    set_int(idx, int64_t(i), kept[i]);
  }
}

template <class T>
void unique(KernelContext& c) {
  const Tensor& x = c.in(0);
  const T* xs = x.data<T>();
  Tensor& idx = c.out(1, x.shape());
  std::unordered_map<T, int64_t> seen;
  std::vector<int64_t> first;
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t place = int64_t(first.size());
    if (equals_itself(xs[i])) place = seen.try_emplace(xs[i], place).first->second;
    if (place == int64_t(first.size())) first.push_back(i);
    set_int(idx, i, place);
  }
  Tensor& y = c.out(0, Shape{int64_t(first.size())});
  for (size_t i = 0; i < first.size(); ++i) y.data<T>()[i] = xs[first[i]];
}

template <template <class> class Make>
std::shared_ptr<void> prepare_list(const Node& node) {
  DType dtype = node.input(0).dtype();
  if (dtype == DType::kString) return std::make_shared<Kernel>(Make<std::string>::kernel);
  if (dtype == DType::kBool) return std::make_shared<Kernel>(Make<bool>::kernel);
  return std::make_shared<Kernel>(for_number(
      node, dtype, [](auto tag) -> Kernel { return Make<typename decltype(tag)::type>::kernel; }));
}

template <class T>
struct MakeListDiff {
  static constexpr Kernel kernel = list_diff<T>;
};
template <class T>
struct MakeUnique {
  static constexpr Kernel kernel = unique<T>;
};

constexpr OpDef kListDiff = {
    .name = "ListDiff",
    .python = "setdiff1d listdiff (x, y, index_dtype:out_idx)",
    .doc = "The elements of x that are not in y, in order, and where they were.",
    .inputs = {{"x", "T", 1}, {"y", "T", 1}},
    .outputs = {{"out", "T"}, {"idx", "out_idx"}},
    .attrs = {{"T", kAnyType}, {"out_idx", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { c.out(0, Shape{-1}), c.out(1, Shape{-1}); },
    .kernel = call_state,
    .prepare = prepare_list<MakeListDiff>,
    .samples = {"int32[4]{1,2,3,4} int32[2]{2,4}"},
};

constexpr OpDef kUnique = {
    .name = "Unique",
    .python = "unique",
    .doc =
        "Each value of x once, in the order of its first place, and for each element which one it "
        "is.",
    .inputs = {{"x", "T", 1}},
    .outputs = {{"y", "T"}, {"idx", "out_idx"}},
    .attrs = {{"T", kAnyType}, {"out_idx", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { c.out(0, Shape{-1}), c.out(1, c.in(0)); },
    .kernel = call_state,
    .prepare = prepare_list<MakeUnique>,
    .samples = {"int32[5]{4,2,4,1,2}", "string[3]{a,b,a}"},
};

// --- Cumsum, Cumprod -----------------------------------------------------------------------------

struct CumulateState {
  bool exclusive, reverse;
  Kernel run;
};

template <class T, bool kProduct>
void cumulate(KernelContext& c) {
  const auto& state = c.state<CumulateState>();
  const Tensor& x = c.in(0);
  const Shape& shape = x.shape();
  int axis = resolve_axis(c.node(), int_at(c.in(1), 0), shape.rank());
  Tensor& out = c.out(0, shape);
  int64_t n = shape[axis], inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  for (int64_t line = 0; line < (n ? x.size() / n : 0); ++line) {
    int64_t start = line / inner * n * inner + line % inner;
    T so_far = kProduct ? T(1) : T(0);
    for (int64_t i = 0; i < n; ++i) {
      int64_t place = start + (state.reverse ? n - 1 - i : i) * inner;
      const T value = x.data<T>()[place];
      T next = kProduct ? wrapping_multiply(so_far, value) : wrapping_add(so_far, value);
      out.data<T>()[place] = state.exclusive ? so_far : next;
      so_far = next;
    }
  }
}

template <bool kProduct>
std::shared_ptr<void> prepare_cumulate(const Node& node) {
  Kernel run = for_number(node, node.output_type(0), [](auto tag) -> Kernel {
    return cumulate<typename decltype(tag)::type, kProduct>;
  });
  return std::make_shared<CumulateState>(
      CumulateState{node.attrs().get<bool>("exclusive"), node.attrs().get<bool>("reverse"), run});
}

Output running(GradContext& g, std::string_view op, Output x, bool flip) {
  return g.op(
      op, {x, g.x(1)},
      {{"exclusive", g.attr<bool>("exclusive")}, {"reverse", g.attr<bool>("reverse") != flip}});
}

Values cumsum_gradient(GradContext& g) { return {running(g, "Cumsum", g.dy(0), true), {}}; }

Values cumprod_gradient(GradContext& g) {
  Output product = running(g, "Cumprod", g.x(0), false);
  Output sum = running(g, "Cumsum", mul(g.graph(), product, g.dy(0)), true);
  return {g.op("DivNoNan", {sum, g.x(0)}, {}, "div_no_nan"), {}};
}

constexpr OpDef cumulation(std::string_view name, std::string_view doc,
                           std::shared_ptr<void> (*prepare)(const Node&),
                           Values (*gradient)(GradContext&)) {
  return {
      .name = name,
      .doc = doc,
      .inputs = {{"x", "T"}, {"axis", "Tidx", 0}},
      .outputs = {{"out", "T"}},
      .attrs = {{"exclusive", "bool", "false"},
                {"reverse", "bool", "false"},
                {"T", kNumberTypes},
                {"Tidx", kIndexTypes, "int32"}},
      .shape = same_shape,
      .kernel = [](KernelContext& c) { c.state<CumulateState>().run(c); },
      .prepare = prepare,
      .gradient = gradient,
      .samples = {"float[2,3] int32[]{1}", "float[2,3] int32[]{0} exclusive=true reverse=true"}};
}

constexpr OpDef kCumsum =
    cumulation("Cumsum", "Running sums along an axis.", prepare_cumulate<false>, cumsum_gradient)
        .in_python("cumsum math.cumsum (x, axis=0, exclusive, reverse)");
constexpr OpDef kCumprod = cumulation("Cumprod", "Running products along an axis.",
                                      prepare_cumulate<true>, cumprod_gradient)
                               .in_python("cumprod math.cumprod (x, axis=0, exclusive, reverse)");

constexpr const OpDef* kRows[] = {&kGather,
                                  &kGatherV2,
                                  &kUnsortedSegmentSum,
                                  &kDynamicStitch,
                                  &kInvertPermutation,
                                  &kWhere,
                                  &kListDiff,
                                  &kUnique,
                                  &kCumsum,
                                  &kCumprod};

}  // namespace

OpFamily index_ops() { return kRows; }

}  // namespace capstan
