// Ops that take a window out of a tensor, or put one into zeros.

#include <algorithm>
#include <bit>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"
#include "ops/window.h"

namespace capstan {
namespace {

// --- Slice ---------------------------------------------------------------------------------------

// The shape of x[begin : begin + size]; -1 in size means the rest.
Shape slice_size(const Shape& x, const Tensor& begin, const Tensor& size) {
  if (begin.size() != x.rank() || size.size() != x.rank()) {
    throw invalid_argument("Slice of shape {} needs {} begins and sizes, but got {} and {}", x,
                           x.rank(), begin.size(), size.size());
  }
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    int64_t from = int_at(begin, i), n = int_at(size, i);
    if (n == -1 && x[i] >= 0) n = x[i] - from;
    bool inside = from >= 0 && n >= -1 && (x[i] < 0 || (from <= x[i] && n <= x[i] - from));
    if (!inside) {
      throw invalid_argument("Slice: {} elements from {} do not lie within dimension {} of {}", n,
                             from, i, x);
    }
    out.push_back(n);
  }
  return out;
}

void slice_shape(ShapeContext& c) {
  const Shape& x = c.in(0);
  const Tensor *begin = c.constant(1), *size = c.constant(2);
  if (x.known_rank() && begin && size) return c.out(0, slice_size(x, *begin, *size));
  // A size says all about its dimension, but for -1: the rest.
  if (std::optional<Shape> sizes = c.in_as_shape(2)) return c.out(0, *sizes);
  if (x.known_rank()) return c.out(0, Shape::unknown_of_rank(x.rank()));
  const Shape& vector = c.in(1);
  bool rank_known = vector.known_rank() && vector.rank() == 1 && vector[0] >= 0;
  c.out(0, rank_known ? Shape::unknown_of_rank(int(vector[0])) : Shape::unknown());
}

void slice_kernel(KernelContext& c) {
  const Tensor& x = c.in(0);
  Shape size = slice_size(x.shape(), c.in(1), c.in(2));
  int64_t begin[Shape::kMaxRank];
  for (int i = 0; i < size.rank(); ++i) begin[i] = int_at(c.in(1), i);
  read_window(plain_window(x.shape(), begin, size), x, c.out(0, size));
}

// The gradient of the window, padded with what was cut off.
Values slice_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output x = g.x(0), begin = g.x(1);
  Output rank = rank_of(graph, x);
  Output size = shape_of(graph, g.y(0), begin.dtype());
  Output column = stack(graph, {rank, number(DType::kInt32, 1)});
  Output before = reshape(graph, begin, column);
  Output rest = sub(graph, shape_of(graph, x, begin.dtype()), size);
  Output after = reshape(graph, sub(graph, rest, begin), column);
  std::vector<Arg> columns = {before, after};
  Output paddings = concat(graph, columns, number(DType::kInt32, 1));
  return {g.op("Pad", {g.dy(0), paddings}), {}, {}};
}

constexpr OpDef kSlice = {
    .name = "Slice",
    .doc =
        "A window of the input: `size` elements from `begin` in each dimension, -1 for the rest.",
    .inputs = {{"input", "T"}, {"begin", "Index", 1}, {"size", "Index", 1}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"Index", kIndexTypes}},
    .shape = slice_shape,
    .kernel = slice_kernel,
    .gradient = slice_gradient,
    .moves = true,
    .samples = {"float[4,3] int32[2]{1,0} int32[2]{2,-1}",
                "string[3]{a,b,c} int64[1]{1} int64[1]{2}"},
};

// --- Pad -----------------------------------------------------------------------------------------

Shape padded(const Shape& x, const Tensor& paddings) {
  if (paddings.size() != 2 * x.rank()) {
    throw invalid_argument("Pad of shape {} needs paddings of shape [{},2], but got {}", x,
                           x.rank(), paddings.shape());
  }
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    int64_t before = int_at(paddings, 2 * i), after = int_at(paddings, 2 * i + 1);
    if (before < 0 || after < 0)
      throw invalid_argument("Pad: the paddings {} hold a negative number", paddings.text());
    out.push_back(x[i] < 0 ? -1 : add_sizes(x[i], add_sizes(before, after)));
  }
  return out;
}

void pad_shape(ShapeContext& c) {
  Shape x = c.in_with_rank_from(0, 1);
  if (!x.known_rank()) return c.out(0, Shape::unknown());
  c.out(0, c.constant(1) ? padded(x, *c.constant(1)) : Shape::unknown_of_rank(x.rank()));
}

void write_padded(const Tensor& x, const Tensor& paddings, Tensor& out) {
  int64_t begin[Shape::kMaxRank];
  for (int i = 0; i < x.shape().rank(); ++i) begin[i] = int_at(paddings, 2 * i);
  write_window(plain_window(out.shape(), begin, x.shape()), x, out);
}

void pad_kernel(KernelContext& c) {
  Tensor& out = c.out(0, padded(c.in(0).shape(), c.in(1)));
  fill_zero(out);
  write_padded(c.in(0), c.in(1), out);
}

Values pad_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Output column = stack(graph, {rank_of(graph, g.x(0)), number(DType::kInt32, 1)});
  Output before = node(graph, "Slice", {g.x(1), ints({0, 0}), column});
  Output begin = reshape(graph, before, ints({-1}));
  Output size = shape_of(graph, g.x(0), begin.dtype());
  Values grads = {g.op("Slice", {g.dy(0), begin, size})};
  grads.resize(g.node().inputs().size());
  return grads;
}

constexpr OpDef kPad = {
    .name = "Pad",
    .doc = "The input with zeros before and after it in each dimension.",
    .inputs = {{"input", "T"}, {"paddings", "Tpaddings", 2}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"Tpaddings", kIndexTypes, "int32"}},
    .shape = pad_shape,
    .kernel = pad_kernel,
    .gradient = pad_gradient,
    .samples = {"float[2,3] int32[2,2]{0,1,2,0}"},
};

template <class T>
void fill_with(Tensor& out, const Tensor& value) {
  std::fill_n(out.data<T>(), out.size(), *value.data<T>());
}

constexpr OpDef kPadV2 = {
    .name = "PadV2",
    .doc = "The input with a value before and after it in each dimension.",
    .inputs = {{"input", "T"}, {"paddings", "Tpaddings", 2}, {"constant_values", "T", 0}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"Tpaddings", kIndexTypes, "int32"}},
    .shape = pad_shape,
    .kernel =
        [](KernelContext& c) {
          Tensor& out = c.out(0, padded(c.in(0).shape(), c.in(1)));
          for_size(c.node(), out.dtype(),
                   [&](auto tag) { fill_with<typename decltype(tag)::type>(out, c.in(2)); });
          write_padded(c.in(0), c.in(1), out);
        },
    .gradient = pad_gradient,
    .samples = {"float[2,3] int32[2,2]{0,1,2,0} float[]{7}"},
};

// --- StridedSlice --------------------------------------------------------------------------------

struct SliceMasks {
  uint32_t begin, end, ellipsis, new_axis, shrink;
  explicit SliceMasks(const Node& node)
      : begin(of(node, "begin_mask")),
        end(of(node, "end_mask")),
        ellipsis(of(node, "ellipsis_mask")),
        new_axis(of(node, "new_axis_mask")),
        shrink(of(node, "shrink_axis_mask")) {}
  static uint32_t of(const Node& node, std::string_view name) {
    return uint32_t(node.attrs().get<int64_t>(name));
  }
};

// One dimension of the input: which elements are taken. size -1: not known yet.
struct Taken {
  int64_t begin = 0, stride = 1, size = -1;
};

struct StridedWindow {
  Window window;  // valid when everything was known
  Shape shape;    // of the result, -1 where unknown
};

// Null tensors stand for values that are not known yet.
class SliceReader {
 public:
  SliceReader(const Shape& x, const Tensor* begin, const Tensor* end, const Tensor* strides,
              int count, const SliceMasks& masks)
      : x_(x), begin_(begin), end_(end), strides_(strides), count_(count), masks_(masks) {}

  StridedWindow read() {
    if (count_ > kMostIndices)
      throw invalid_argument("StridedSlice takes {} indices at most, not {}", kMostIndices, count_);
    int ellipses = std::popcount(masks_.ellipsis & bits(count_));
    if (ellipses > 1)
      throw invalid_argument("StridedSlice takes one ellipsis, but got {}", ellipses);
    int new_axes = std::popcount(masks_.new_axis & ~masks_.ellipsis & bits(count_));
    int named = count_ - ellipses - new_axes;
    if (named > x_.rank()) {
      throw invalid_argument("StridedSlice: {} indices are too many for the shape {}", named, x_);
    }
    int open =
        x_.rank() - named;  // dimensions that the ellipsis stands for, at the end if not written
    for (int i = 0; i < count_; ++i) {
      uint32_t bit = 1u << i;
      if (masks_.ellipsis & bit) {
        for (; open > 0; --open) whole();
      } else if (masks_.new_axis & bit) {
        out_.shape.push_back(1);
      } else {
        index(i, bit);
      }
    }
    for (; open > 0; --open) whole();
    set_steps();
    return out_;
  }

 private:
  static constexpr int kMostIndices = 31;  // the bits of a mask
  static uint32_t bits(int n) { return (1u << n) - 1; }

  void whole() {
    int64_t dim = x_[axis_];
    taken_[axis_++] = {0, 1, dim};
    out_.shape.push_back(dim);
  }

  void index(int i, uint32_t bit) {
    int64_t dim = x_[axis_], stride = strides_ ? int_at(*strides_, i) : 1;
    if (stride == 0) throw invalid_argument("StridedSlice: stride {} is zero", i);
    bool shrink = masks_.shrink & bit;
    if (shrink && stride < 0)
      throw invalid_argument("StridedSlice: stride {} of a single index is {}, not 1", i, stride);
    Taken taken{.stride = stride};
    bool masked = (masks_.begin & bit) && (masks_.end & bit);
    bool known = strides_ && dim >= 0 && (masked || (begin_ && end_));
    if (shrink) {
      taken = {begin_ && dim >= 0 ? single(i, dim) : 0, 1, 1};
    } else if (known) {
      int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
      int64_t from =
          masks_.begin & bit ? (stride > 0 ? low : high) : clamped(*begin_, i, dim, low, high);
      int64_t to = masks_.end & bit ? (stride > 0 ? high : low) : clamped(*end_, i, dim, low, high);
      int64_t span = to - from;
      taken.begin = from;
      taken.size =
          span == 0 || (span < 0) != (stride < 0) ? 0 : span / stride + (span % stride != 0);
      // To a next element that is not there a step may be of any length.
      if (taken.size <= 1) taken.stride = 1;
    }
    taken_[axis_++] = taken;
    if (!shrink) out_.shape.push_back(taken.size);
  }

  int64_t single(int i, int64_t dim) const {
    int64_t at = int_at(*begin_, i);
    if (at < -dim || at >= dim) {
      throw invalid_argument("slice index {} of dimension {} is out of bounds for the shape {}", at,
                             axis_, x_);
    }
    return at < 0 ? at + dim : at;
  }

  static int64_t clamped(const Tensor& t, int i, int64_t dim, int64_t low, int64_t high) {
    int64_t at = int_at(t, i);
    return std::clamp(at < 0 ? at + dim : at, low, high);
  }

  void set_steps() {
    if (!x_.fully_defined()) return;
    x_.elements();  // a shape that is only said may be larger than any tensor's
    Window& w = out_.window;
    w.rank = x_.rank();
    int64_t step = 1;
    for (int d = x_.rank() - 1; d >= 0; --d) {
      w.sizes[d] = taken_[d].size;
      w.steps[d] = taken_[d].stride * step;
      w.start += taken_[d].begin * step;
      step *= x_[d];
    }
  }

  const Shape& x_;
  const Tensor *begin_, *end_, *strides_;
  const int count_;
  const SliceMasks& masks_;
  int axis_ = 0;
  Taken taken_[Shape::kMaxRank];
  StridedWindow out_;
};

void strided_slice_shape(ShapeContext& c) {
  const Shape vector = c.in(1).merged_with(c.in(2)).merged_with(c.in(3));
  if (!c.in(0).known_rank() || !vector.fully_defined()) return c.out(0, Shape::unknown());
  SliceMasks masks(c.node());
  SliceReader reader(c.in(0), c.constant(1), c.constant(2), c.constant(3), int(vector[0]), masks);
  c.out(0, reader.read().shape);
}

StridedWindow read_strided(const Shape& x, KernelContext& c) {
  const Tensor &begin = c.in(1), &end = c.in(2), &strides = c.in(3);
  if (begin.size() != end.size() || begin.size() != strides.size()) {
    throw invalid_argument("StridedSlice: begin {}, end {} and strides {} must have one length",
                           begin.shape(), end.shape(), strides.shape());
  }
  return SliceReader(x, &begin, &end, &strides, int(begin.size()), c.state<SliceMasks>()).read();
}

std::shared_ptr<void> prepare_strided(const Node& node) {
  return std::make_shared<SliceMasks>(node);
}

AttrMap mask_attrs(GradContext& g) {
  AttrMap attrs;
  for (const char* name :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    attrs.set(name, g.attr<int64_t>(name));
  }
  return attrs;
}

// The value itself where it is known: the gradient then does not depend on the node that made it.
Arg value_or_node(Output value) {
  std::optional<Tensor> known = constant_value(value);
  return known ? Arg(*known) : Arg(value);
}

Values strided_slice_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Arg shape = value_or_node(shape_of(graph, g.x(0), g.x(1).dtype()));
  Arg begin = value_or_node(g.x(1)), end = value_or_node(g.x(2)), strides = value_or_node(g.x(3));
  return {node(graph, "StridedSliceGrad", {shape, begin, end, strides, g.dy(0)}, mask_attrs(g)),
          {},
          {},
          {}};
}

constexpr OpDef kStridedSlice = {
    .name = "StridedSlice",
    .doc = "Python's x[begin:end:stride, ...], with masks for what was not written.",
    .inputs = {{"input", "T"}, {"begin", "Index", 1}, {"end", "Index", 1}, {"strides", "Index", 1}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType},
              {"Index", kIndexTypes},
              {"begin_mask", "int", "0"},
              {"end_mask", "int", "0"},
              {"ellipsis_mask", "int", "0"},
              {"new_axis_mask", "int", "0"},
              {"shrink_axis_mask", "int", "0"}},
    .shape = strided_slice_shape,
    .kernel =
        [](KernelContext& c) {
          StridedWindow taken = read_strided(c.in(0).shape(), c);
          read_window(taken.window, c.in(0), c.out(0, taken.shape));
        },
    .prepare = prepare_strided,
    .gradient = strided_slice_gradient,
    .moves = true,
    .samples =
        {"float[4,3] int32[2]{1,0} int32[2]{4,3} int32[2]{2,1}",
         "float[4,3,2] int32[2]{-1,0} int32[2]{0,1} int32[2]{-1,1} shrink_axis_mask=2 end_mask=1",
         "float[2,3,4] int32[3]{0,0,1} int32[3]{0,0,3} int32[3]{1,1,1} ellipsis_mask=1 "
         "new_axis_mask=2",
         "int32[3]{1,2,3} int32[1]{-1} int32[1]{0} int32[1]{1} shrink_axis_mask=1"},
};

void strided_slice_grad_kernel(KernelContext& c) {
  Shape shape = shape_from(c.in(0));
  StridedWindow taken = read_strided(shape, c);
  const Tensor& dy = c.in(4);
  if (dy.shape() != taken.shape) {
    throw invalid_argument("StridedSliceGrad: dy has shape {}, but the slice of {} has {}",
                           dy.shape(), shape, taken.shape);
  }
  Tensor& out = c.out(0, shape);
  fill_zero(out);
  write_window(taken.window, dy, out);
}

void strided_slice_grad_shape(ShapeContext& c) {
  if (std::optional<Shape> shape = c.in_as_shape(0)) return c.out(0, *shape);
  const Shape& vector = c.in(0);
  bool rank_known = vector.known_rank() && vector.rank() == 1 && vector[0] >= 0;
  c.out(0, rank_known ? Shape::unknown_of_rank(int(vector[0])) : Shape::unknown());
}

constexpr OpDef kStridedSliceGrad = {
    .name = "StridedSliceGrad",
    .doc = "Zeros of this shape with dy where StridedSlice would read.",
    .inputs = {{"shape", "Index", 1},
               {"begin", "Index", 1},
               {"end", "Index", 1},
               {"strides", "Index", 1},
               {"dy", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType},
              {"Index", kIndexTypes},
              {"begin_mask", "int", "0"},
              {"end_mask", "int", "0"},
              {"ellipsis_mask", "int", "0"},
              {"new_axis_mask", "int", "0"},
              {"shrink_axis_mask", "int", "0"}},
    .shape = strided_slice_grad_shape,
    .kernel = strided_slice_grad_kernel,
    .prepare = prepare_strided,
    .gradient = [](GradContext& g) -> Values {
      Output dy = g.op("StridedSlice", {g.dy(0), g.x(1), g.x(2), g.x(3)}, mask_attrs(g));
      return {{}, {}, {}, {}, dy};
    },
    .samples = {"int32[2]{4,3} int32[2]{1,0} int32[2]{4,3} int32[2]{2,1} float[2,3]"},
};

constexpr const OpDef* kRows[] = {&kSlice, &kPad, &kPadV2, &kStridedSlice, &kStridedSliceGrad};

}  // namespace

OpFamily slice_ops() { return kRows; }

}  // namespace capstan
