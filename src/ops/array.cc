// Constants, and ops that hand on a tensor, reshape it or tell its shape.

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"
#include "ops/window.h"

namespace capstan {
namespace {

void hand_on(KernelContext& c) { c.set_out(0, c.in(0)); }
Values same_gradient(GradContext& g) { return {g.dy(0)}; }

constexpr OpDef forwarding(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"input", "T"}},
          .outputs = {{"output", "T"}},
          .attrs = {{"T", kAnyType}},
          .shape = same_shape,
          .kernel = hand_on,
          .gradient = same_gradient,
          .forwards = true,
          .moves = true,
          .samples = {"float[2,3]", "string[2]{a,b}"}};
}

void const_shape(ShapeContext& c) {
  const Tensor& value = c.attr<Tensor>("value");
  if (value.dtype() != c.attr<DType>("dtype")) {
    throw invalid_argument("the value is {}, but the attr dtype {}", dtype_name(value.dtype()),
                           dtype_name(c.attr<DType>("dtype")));
  }
  c.out(0, value.shape());
}

constexpr OpDef kConst = {
    .name = "Const",
    .doc = "A tensor that is part of the graph.",
    .outputs = {{"output", "dtype"}},
    .attrs = {{"value", "tensor"}, {"dtype", "type"}},
    .shape = const_shape,
    .kernel = [](KernelContext& c) { c.set_out(0, c.state<Tensor>()); },
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Tensor>(node.attrs().get<Tensor>("value"));
    },
    .no_gradient = true,
    .constant = true,
    .foretold = true,
};

constexpr OpDef kIdentity = [] {
  OpDef row = forwarding("Identity", "The input itself.");
  row.foretold = true;
  return row;
}();
constexpr OpDef kSnapshot = [] {
  OpDef row = forwarding("Snapshot", "The input itself.");
  row.gradient = nullptr;
  return row;
}();
constexpr OpDef kStopGradient = [] {
  OpDef row = forwarding("StopGradient", "The input itself; no gradient passes.");
  row.gradient = nullptr;
  row.no_gradient = true;
  row.foretold = true;
  return row;
}();

Values prevented(GradContext& g) {
  throw unimplemented("the gradient of '{}' is explicitly disabled: {}", g.node().name(),
                      g.attr<std::string>("message"));
}

constexpr OpDef kPreventGradient = {
    .name = "PreventGradient",
    .doc = "The input itself; asking for its gradient is an error with this message.",
    .inputs = {{"input", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"message", "string", "''"}},
    .shape = same_shape,
    .kernel = hand_on,
    .gradient = prevented,
    .forwards = true,
    .samples = {"float[2,3]"},
};

constexpr OpDef kIdentityN = {
    .name = "IdentityN",
    .python = "identity_n",
    .doc = "The inputs themselves.",
    .inputs = {{"input", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", "list(type)>=1"}},
    .shape =
        [](ShapeContext& c) {
          for (int i = 0; i < c.inputs(); ++i) c.out(i, c.in(i));
        },
    .kernel =
        [](KernelContext& c) {
          for (int i = 0; i < c.inputs(); ++i) {
            Tensor& out = c.out(i, c.in(i).shape());
            copy_elements(out.dtype(), out.raw(), c.in(i).raw(), out.size());
          }
        },
    .gradient =
        [](GradContext& g) {
          Values grads;
          for (int i = 0; i < g.node().outputs(); ++i) grads.push_back(g.dy(i));
          return grads;
        },
    .samples = {"float[2,3] float[2]"},
};

// --- Reshape and friends -------------------------------------------------------------------------

// The place of the one -1 in a wanted shape, or -1.
int open_dimension(const Shape& wanted) {
  int open = -1;
  for (int i = 0; i < wanted.rank(); ++i) {
    if (wanted[i] >= 0) continue;
    if (open >= 0) throw invalid_argument("the shape {} has more than one -1", wanted);
    open = i;
  }
  return open;
}

// What a -1 stands for. Zeros in both shapes cancel out: [0, 3] becomes [0, 3] by [0, -1].
int64_t open_size(const Shape& wanted, const Shape& from) {
  int64_t known = 1, elements = 1;
  bool zeros = false;
  for (int64_t dim : wanted.dims()) {
    zeros |= dim == 0;
    if (dim > 0) known = multiply_sizes(known, dim);
  }
  for (int64_t dim : from.dims()) elements *= dim == 0 && zeros ? 1 : dim;
  return elements / known;
}

// `wanted` with its one -1 filled in so that there are as many elements as in `from`.
Shape filled_shape(const Shape& wanted, const Shape& from) {
  Shape shape = wanted;
  if (int open = open_dimension(wanted); open >= 0) shape[open] = open_size(wanted, from);
  if (shape.elements() != from.elements()) {
    throw invalid_argument("a tensor of shape {} ({} elements) cannot be reshaped to {}", from,
                           from.elements(), wanted);
  }
  return shape;
}

Shape read_shape(const Tensor& t) {
  Shape shape;
  for (int64_t i = 0; i < t.size(); ++i) shape.push_back(int_at(t, i));
  return shape;
}

void reshape_shape(ShapeContext& c) {
  std::optional<Shape> wanted = c.in_as_shape(1);
  if (!wanted) {
    const Shape& vector = c.in(1);
    bool rank_known = vector.known_rank() && vector.rank() == 1 && vector[0] >= 0;
    return c.out(0, rank_known ? Shape::unknown_of_rank(int(vector[0])) : Shape::unknown());
  }
  // An element that is not known to be -1 may be anything, so only whole constants are filled in.
  if (c.in(0).fully_defined() && c.constant(1)) {
    return c.out(0, filled_shape(*wanted, c.in(0)));
  }
  c.out(0, *wanted);
}

void reshape_kernel(KernelContext& c) {
  const Tensor& x = c.in(0);
  c.set_out(0, x.reshaped(filled_shape(read_shape(c.in(1)), x.shape())));
}

Values reshape_gradient(GradContext& g) {
  const Shape& from = g.x(0).shape();
  if (from.known_rank()) {
    auto dims = from.dims();
    auto open = std::count(dims.begin(), dims.end(), -1);
    // One unknown dimension is left for Reshape to fill in, unless zeros leave it undecided.
    if (open == 1 && std::count(dims.begin(), dims.end(), 0) == 0) {
      return {reshape(g.graph(), g.dy(0), ints(from)), {}};
    }
  }
  return {reshape(g.graph(), g.dy(0), shape_of(g.graph(), g.x(0))), {}};
}

Output reshaped_like_input(GradContext& g) {
  return reshape(g.graph(), g.dy(0), shape_of(g.graph(), g.x(0)));
}

constexpr OpDef kReshape = {
    .name = "Reshape",
    .doc = "The same elements under another shape; one dimension may be -1.",
    .inputs = {{"tensor", "T"}, {"shape", "Tshape", 1}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"Tshape", kIndexTypes, "int32"}},
    .shape = reshape_shape,
    .kernel = reshape_kernel,
    .gradient = reshape_gradient,
    .forwards = true,
    .moves = true,
    .samples = {"float[2,3] int32[2]{3,-1}", "string[2]{a,b} int64[2]{1,2}"},
};

Shape expanded(const Node& node, const Shape& shape, int64_t dim) {
  int at = resolve_axis(node, dim, shape.rank() + 1);
  Shape out;
  for (int i = 0; i <= shape.rank(); ++i) {
    if (i == at) out.push_back(1);
    if (i < shape.rank()) out.push_back(shape[i]);
  }
  return out;
}

void expand_dims_shape(ShapeContext& c) {
  const Tensor* dim = c.constant(1);
  const int64_t at = dim ? single_int(c.node(), *dim) : 0;
  if (!c.in(0).known_rank()) return c.out(0, Shape::unknown());
  if (!dim) return c.out(0, Shape::unknown_of_rank(c.in(0).rank() + 1));
  c.out(0, expanded(c.node(), c.in(0), at));
}

constexpr OpDef kExpandDims = {
    .name = "ExpandDims",
    .doc = "The same elements with a dimension of 1 put in at `dim`.",
    .inputs = {{"input", "T"}, {"dim", "Tdim"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"Tdim", kIndexTypes, "int32"}},
    .shape = expand_dims_shape,
    .kernel =
        [](KernelContext& c) {
          const Tensor& x = c.in(0);
          const int64_t at = single_int(c.node(), c.in(1));
          c.set_out(0, x.reshaped(expanded(c.node(), x.shape(), at)));
        },
    .gradient = [](GradContext& g) -> Values {
      return {reshaped_like_input(g), {}};
    },
    .forwards = true,
    .moves = true,
    .samples = {"float[2,3] int32[]{1}", "string[2]{a,b} int32[]{-1}"},
};

Shape squeezed(const Node& node, const Shape& shape, const std::vector<int64_t>& dims) {
  uint32_t wanted = 0;
  for (int64_t dim : dims) wanted |= 1u << resolve_axis(node, dim, shape.rank());
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    bool named = wanted & (1u << i);
    if (named && shape[i] != 1 && shape[i] != -1) {
      throw invalid_argument("Squeeze (node '{}'): dimension {} of {} is {}, not 1", node.name(), i,
                             shape, shape[i]);
    }
    if (!(dims.empty() ? shape[i] == 1 : named)) out.push_back(shape[i]);
  }
  return out;
}

void squeeze_shape(ShapeContext& c) {
  const Shape& x = c.in(0);
  const auto& dims = c.attr<std::vector<int64_t>>("squeeze_dims");
  if (!x.known_rank() || (dims.empty() && !x.fully_defined())) return c.out(0, Shape::unknown());
  c.out(0, squeezed(c.node(), x, dims));
}

constexpr OpDef kSqueeze = {
    .name = "Squeeze",
    .doc = "The same elements without dimensions of 1: those named, or all.",
    .inputs = {{"input", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"squeeze_dims", "list(int)", "[]"}},
    .shape = squeeze_shape,
    .kernel =
        [](KernelContext& c) {
          const auto& dims = c.state<std::vector<int64_t>>();
          c.set_out(0, c.in(0).reshaped(squeezed(c.node(), c.in(0).shape(), dims)));
        },
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      using Dims = std::vector<int64_t>;
      return std::make_shared<Dims>(node.attrs().get<Dims>("squeeze_dims"));
    },
    .gradient = [](GradContext& g) -> Values { return {reshaped_like_input(g)}; },
    .forwards = true,
    .moves = true,
    .samples = {"float[2,1,3]", "float[2,1,3,1] squeeze_dims=[1]"},
};

// --- What a tensor looks like --------------------------------------------------------------------

void write_shape(KernelContext& c, int i) {
  const Shape& shape = c.in(i).shape();
  Tensor& out = c.out(i, Shape{shape.rank()});
  for (int d = 0; d < shape.rank(); ++d) set_int(out, d, shape[d]);
}

Shape vector_of_rank(const Shape& shape) { return Shape{shape.known_rank() ? shape.rank() : -1}; }

constexpr OpDef kShape = {
    .name = "Shape",
    .doc = "The dimensions of the input as a vector.",
    .inputs = {{"input", "T"}},
    .outputs = {{"output", "out_type"}},
    .attrs = {{"T", kAnyType}, {"out_type", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { c.out(0, vector_of_rank(c.in(0))); },
    .kernel = [](KernelContext& c) { write_shape(c, 0); },
    .no_gradient = true,
    .from_shapes = true,
    .foretold = true,
    .samples = {"float[2,3]", "string[2]{a,b} out_type=int64"},
};

constexpr OpDef kShapeN = {
    .name = "ShapeN",
    .python = "shape_n",
    .doc = "The dimensions of each input as a vector.",
    .inputs = {{"input", "N*T"}},
    .outputs = {{"output", "N*out_type"}},
    .attrs = {{"N", "int>=1"}, {"T", kAnyType}, {"out_type", kIndexTypes, "int32"}},
    .shape =
        [](ShapeContext& c) {
          for (int i = 0; i < c.inputs(); ++i) c.out(i, vector_of_rank(c.in(i)));
        },
    .kernel =
        [](KernelContext& c) {
          for (int i = 0; i < c.inputs(); ++i) write_shape(c, i);
        },
    .no_gradient = true,
    .from_shapes = true,
    .samples = {"float[2,3] float[4]"},
};

constexpr OpDef kSize = {
    .name = "Size",
    .doc = "The number of elements of the input.",
    .inputs = {{"input", "T"}},
    .outputs = {{"output", "out_type"}},
    .attrs = {{"T", kAnyType}, {"out_type", kIndexTypes, "int32"}},
    .shape = scalar_shape,
    .kernel = [](KernelContext& c) { set_int(c.out(0, Shape{}), 0, c.in(0).size()); },
    .no_gradient = true,
    .from_shapes = true,
    .foretold = true,
    .samples = {"float[2,3]"},
};

constexpr OpDef kRank = {
    .name = "Rank",
    .doc = "The number of dimensions of the input.",
    .inputs = {{"input", "T"}},
    .outputs = {{"output", "int32"}},
    .attrs = {{"T", kAnyType}},
    .shape = scalar_shape,
    .kernel = [](KernelContext& c) { set_int(c.out(0, Shape{}), 0, c.in(0).shape().rank()); },
    .no_gradient = true,
    .from_shapes = true,
    .foretold = true,
    .samples = {"float[2,3]"},
};

constexpr const OpDef* kRows[] = {
    &kConst,   &kIdentity, &kIdentityN, &kSnapshot, &kStopGradient, &kReshape,        &kExpandDims,
    &kSqueeze, &kShape,    &kShapeN,    &kSize,     &kRank,         &kPreventGradient};

}  // namespace

OpFamily array_ops() { return kRows; }

}  // namespace capstan
