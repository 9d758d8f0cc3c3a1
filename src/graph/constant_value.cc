// Values that follow from constants, found without running kernels.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "graph/shape_context.h"

namespace capstan {
namespace {

// Larger results are not worth making at construction (a Const of any size is shared, not made).
constexpr int64_t kMaxElements = 1 << 16;
// Nodes looked at for one value: graphs out of files may be deep or share inputs many times over.
constexpr int kMaxVisits = 256;

using Value = std::optional<Tensor>;

bool is_plain(DType dtype) { return dtype != DType::kString && dtype_size(dtype) > 0; }

// Calls f with a null T* for the element type; false for types without arithmetic here.
template <class F>
bool visit_number(DType dtype, F f) {
  switch (dtype) {
    case DType::kFloat: f(static_cast<float*>(nullptr)); return true;
    case DType::kDouble: f(static_cast<double*>(nullptr)); return true;
    case DType::kInt32: f(static_cast<int32_t*>(nullptr)); return true;
    case DType::kInt64: f(static_cast<int64_t*>(nullptr)); return true;
    case DType::kUInt8: f(static_cast<uint8_t*>(nullptr)); return true;
    case DType::kBool: f(static_cast<bool*>(nullptr)); return true;
    default: return false;
  }
}

Tensor whole_numbers(DType dtype, const Shape& shape, std::span<const int64_t> values) {
  Tensor out(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kInt64) {
      out.data<int64_t>()[i] = values[i];
    } else {
      out.data<int32_t>()[i] = int32_t(values[i]);
    }
  }
  return out;
}

bool fits(DType dtype, int64_t value) {
  return dtype == DType::kInt64 || (dtype == DType::kInt32 && value == int32_t(value));
}

// Elements of an int32 or int64 tensor; nothing for others and for large ones.
std::optional<std::vector<int64_t>> elements(const Value& value) {
  if (!value || value->size() > kMaxElements) return std::nullopt;
  std::vector<int64_t> out(size_t(value->size()));
  for (size_t i = 0; i < out.size(); ++i) {
    if (value->dtype() == DType::kInt32) {
      out[i] = value->data<int32_t>()[i];
    } else if (value->dtype() == DType::kInt64) {
      out[i] = value->data<int64_t>()[i];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Whether the language says what a number is as another type; what it leaves open is the kernel's.
template <class To, class From>
bool has_image(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    const int bits = std::numeric_limits<To>::digits;
    const double least = std::is_signed_v<To> ? -std::ldexp(1.0, bits) : 0;
    return double(x) >= least && double(x) < std::ldexp(1.0, bits);
  }
  return true;
}

Value cast(const Tensor& from, DType dtype) {
  if (from.dtype() == dtype) return from;
  if (from.size() > kMaxElements) return std::nullopt;
  Tensor to(dtype, from.shape());
  bool from_number = false, known = true;
  bool to_number = visit_number(dtype, [&](auto* to_type) {
    using To = std::remove_pointer_t<decltype(to_type)>;
    from_number = visit_number(from.dtype(), [&](auto* from_type) {
      using From = std::remove_pointer_t<decltype(from_type)>;
      const From *first = from.data<From>(), *last = first + from.size();
      known = std::all_of(first, last, [](From x) { return has_image<To>(x); });
      if (known) std::transform(first, last, to.data<To>(), [](From x) { return To(x); });
    });
  });
  return from_number && to_number && known ? Value(to) : std::nullopt;
}

// Parts joined along the first dimension, or stacked along a new one.
Value joined(const std::vector<Tensor>& parts, bool stacked) {
  const Tensor& first = parts.front();
  int64_t rows = 0, size = 0;
  for (const Tensor& part : parts) {
    bool alike = part.dtype() == first.dtype() && part.shape().rank() == first.shape().rank();
    if (!alike || !is_plain(part.dtype()) || (!stacked && part.shape().rank() == 0))
      return std::nullopt;
    if (stacked ? part.shape() != first.shape()
                : !std::ranges::equal(part.shape().dims().subspan(1),
                                      first.shape().dims().subspan(1))) {
      return std::nullopt;
    }
    rows += stacked ? 1 : part.shape()[0];
    size += part.size();
  }
  if (size > kMaxElements) return std::nullopt;
  Shape shape{rows};
  for (int64_t dim : first.shape().dims().subspan(stacked ? 0 : 1)) shape.push_back(dim);
  Tensor out(first.dtype(), shape);
  char* to = static_cast<char*>(out.raw());
  for (const Tensor& part : parts) {
    if (part.bytes()) std::memcpy(to, part.raw(), part.bytes());
    to += part.bytes();
  }
  return out;
}

class Evaluator {
 public:
  explicit Evaluator(bool for_shapes) : for_shapes_(for_shapes) {}

  Value value(Output of);

  // Dimensions that are known, of a value that is a vector; unknown where even their number is not.
  Shape partial(Output of) {
    if (Value known = value(of)) return dimensions(*known);
    if (--visits_ < 0 || !may_be_dimensions(of.shape())) return Shape::unknown();
    std::string_view op = of.node->op();
    if (op == "Shape") return of.node->input(0).shape();
    if (op == "Cast" && is_integer(of.dtype())) return partial(of.node->input(0));
    if (op == "Identity" || op == "StopGradient") return partial(of.node->input(0));
    if (op == "Pack" && of.shape().known_rank()) return partial_pack(*of.node);
    if (op == "ConcatV2") return partial_concat(*of.node);
    if (op == "StridedSlice") return partial_slice(*of.node);
    bool known_length = of.shape().fully_defined();
    return known_length ? Shape::unknown_of_rank(int(of.shape()[0])) : Shape::unknown();
  }

 private:
  struct Rule {
    std::string_view op;
    Value (Evaluator::*value)(Output);
    bool only_for_shapes = false;
  };
  static const Rule kRules[];

  // Vectors that no shape could come from stay without a value here, rather than fail.
  static bool may_be_dimensions(const Shape& shape) {
    return !shape.known_rank() || (shape.rank() == 1 && shape[0] <= Shape::kMaxRank);
  }
  static Shape dimensions(const Tensor& vector) {
    auto dims = elements(vector);
    if (!dims || vector.shape().rank() != 1 || dims->size() > Shape::kMaxRank)
      return Shape::unknown();
    if (std::ranges::any_of(*dims, [](int64_t dim) { return dim < -1; })) return Shape::unknown();
    return Shape(std::span<const int64_t>(*dims));
  }

  Value const_node(Output of) { return of.node->attrs().get<Tensor>("value"); }
  Value same(Output of) { return value(of.node->input(0)); }

  Value shape(Output of) {
    const Shape& shape = of.node->input(of.index).shape();
    if (!shape.fully_defined()) return std::nullopt;
    for (int64_t dim : shape.dims()) {
      if (!fits(of.dtype(), dim)) return std::nullopt;
    }
    return whole_numbers(of.dtype(), {shape.rank()}, shape.dims());
  }

  Value size(Output of) {
    const Shape& shape = of.node->input(0).shape();
    if (!shape.fully_defined() || !fits(of.dtype(), shape.elements())) return std::nullopt;
    int64_t size = shape.elements();
    return whole_numbers(of.dtype(), {}, {&size, 1});
  }

  Value rank(Output of) {
    const Shape& shape = of.node->input(0).shape();
    if (!shape.known_rank()) return std::nullopt;
    return Tensor::scalar(int32_t(shape.rank()));
  }

  Value range(Output of) {
    Value start = value(of.node->input(0)), limit = value(of.node->input(1));
    Value delta = value(of.node->input(2));
    if (!start || !limit || !delta) return std::nullopt;
    if (start->size() != 1 || limit->size() != 1 || delta->size() != 1) return std::nullopt;
    Value out;
    visit_number(of.dtype(), [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      double first = double(*start->data<T>()), step = double(*delta->data<T>());
      double count = std::ceil((double(*limit->data<T>()) - first) / step);
      if (!(step != 0) || !(count <= double(kMaxElements))) return;
      out = Tensor(of.dtype(), {std::max<int64_t>(0, int64_t(count))});
      for (int64_t i = 0; i < out->size(); ++i) out->data<T>()[i] = T(first + double(i) * step);
    });
    return out;
  }

  Value cast_node(Output of) {
    Value from = value(of.node->input(0));
    return from ? cast(*from, of.dtype()) : std::nullopt;
  }

  std::optional<std::vector<Tensor>> values(std::span<const Output> of) {
    std::vector<Tensor> out;
    for (const Output& each : of) {
      Value known = value(each);
      if (!known) return std::nullopt;
      out.push_back(std::move(*known));
    }
    if (out.empty()) return std::nullopt;
    return out;
  }

  Value pack(Output of) {
    if (of.node->attrs().get<int64_t>("axis") != 0) return std::nullopt;
    auto parts = values(of.node->inputs());
    return parts ? joined(*parts, true) : std::nullopt;
  }

  Value concat(Output of) {
    std::span<const Output> inputs = of.node->inputs();
    auto axis = elements(value(inputs.back()));
    if (!axis || axis->size() != 1) return std::nullopt;
    auto parts = values(inputs.first(inputs.size() - 1));
    if (!parts) return std::nullopt;
    int64_t rank = parts->front().shape().rank();
    bool first_dimension = axis->front() == 0 || axis->front() == -rank;
    return first_dimension ? joined(*parts, false) : std::nullopt;
  }

  Value unpack(Output of) {
    if (of.node->attrs().get<int64_t>("axis") != 0) return std::nullopt;
    Value whole = value(of.node->input(0));
    if (!whole || !is_plain(whole->dtype()) || whole->shape().rank() < 1) return std::nullopt;
    if (of.index >= whole->shape()[0]) return std::nullopt;
    Tensor row(whole->dtype(), Shape(whole->shape().dims().subspan(1)));
    const char* from = static_cast<const char*>(whole->raw()) + size_t(of.index) * row.bytes();
    if (row.bytes()) std::memcpy(row.raw(), from, row.bytes());
    return row;
  }

  Value fill(Output of) {
    if (!of.shape().fully_defined() || of.shape().elements() > kMaxElements) return std::nullopt;
    Value element = value(of.node->input(1));
    if (!element || element->size() != 1 || !is_plain(element->dtype())) return std::nullopt;
    Tensor out(of.dtype(), of.shape());
    size_t size = dtype_size(of.dtype());
    for (size_t at = 0; at < out.bytes(); at += size) {
      std::memcpy(static_cast<char*>(out.raw()) + at, element->raw(), size);
    }
    return out;
  }

  Value arithmetic(Output of) {
    Value left = value(of.node->input(0)), right = value(of.node->input(1));
    auto a = elements(left), b = elements(right);
    if (!a || !b || a->empty() || b->empty()) return std::nullopt;
    if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
    Shape shape = broadcast(left->shape(), right->shape());
    std::vector<int64_t> out(std::max(a->size(), b->size()));
    for (size_t i = 0; i < out.size(); ++i) {
      auto result =
          apply(of.node->op(), (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
      if (!result || !fits(of.dtype(), *result)) return std::nullopt;
      out[i] = *result;
    }
    return whole_numbers(of.dtype(), shape, out);
  }

  static std::optional<int64_t> apply(std::string_view op, int64_t a, int64_t b) {
    int64_t out = 0;
    if (op == "Sub") return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    if (op == "Mul") return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    if (op == "Maximum") return std::max(a, b);
    if (op == "Minimum") return std::min(a, b);
    if (op == "FloorDiv" || op == "FloorMod") {
      if (b == 0 || b == -1) return std::nullopt;
      const int64_t rest = a % b;
      const bool apart = rest != 0 && (rest < 0) != (b < 0);  // the rest has the sign of b
      if (op == "FloorDiv") return a / b - apart;
      return apart ? rest + b : rest;
    }
    return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  }

  Value prod(Output of) {
    Value factors = value(of.node->input(0)), axes = value(of.node->input(1));
    auto numbers = elements(factors), over = elements(axes);
    if (!numbers || !over || factors->shape().rank() != 1 || over->size() != 1) return std::nullopt;
    int64_t product = 1;
    for (int64_t number : *numbers) {
      if (__builtin_mul_overflow(product, number, &product)) return std::nullopt;
    }
    if (!fits(of.dtype(), product)) return std::nullopt;
    bool keep = of.node->attrs().get_or("keep_dims", false);
    return whole_numbers(of.dtype(), keep ? Shape{1} : Shape{}, {&product, 1});
  }

  Value gather(Output of) {
    Value params = value(of.node->input(0)), at = value(of.node->input(1));
    auto from = elements(params), indices = elements(at);
    if (!from || !indices || params->shape().rank() != 1) return std::nullopt;
    std::vector<int64_t> out;
    for (int64_t index : *indices) {
      if (index < 0 || index >= int64_t(from->size())) return std::nullopt;
      out.push_back((*from)[size_t(index)]);
    }
    return whole_numbers(of.dtype(), at->shape(), out);
  }

  Value reshape(Output of) {
    Value whole = value(of.node->input(0));
    if (!whole || !of.shape().fully_defined() || of.shape().elements() != whole->size())
      return std::nullopt;
    return whole->reshaped(of.shape());
  }

  // The positions that a slice of a vector takes, or nothing for slices of another kind.
  struct Slice {
    std::vector<int64_t> positions;
    bool shrinks = false;
  };
  std::optional<Slice> slice_of(const Node& node, int64_t length) {
    auto begin = elements(value(node.input(1))), end = elements(value(node.input(2)));
    auto stride = elements(value(node.input(3)));
    auto mask = [&](std::string_view name) { return node.attrs().get<int64_t>(name); };
    if (!begin || !end || !stride || begin->size() != 1 || end->size() != 1 ||
        stride->size() != 1) {
      return std::nullopt;
    }
    if (mask("ellipsis_mask") || mask("new_axis_mask") || stride->front() <= 0) return std::nullopt;
    auto clamped = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + length : at, 0, length);
    };
    Slice out;
    if (mask("shrink_axis_mask")) {
      int64_t at = begin->front() < 0 ? begin->front() + length : begin->front();
      if (at < 0 || at >= length) return std::nullopt;
      out.shrinks = true;
      out.positions = {at};
      return out;
    }
    int64_t first = mask("begin_mask") ? 0 : clamped(begin->front());
    int64_t last = mask("end_mask") ? length : clamped(end->front());
    for (int64_t at = first; at < last; at += std::min(stride->front(), last - at))
      out.positions.push_back(at);
    return out;
  }

  Value strided_slice(Output of) {
    if (!is_integer(of.dtype())) return std::nullopt;
    std::vector<int64_t> whole;
    Value known = value(of.node->input(0));
    if (known) {
      auto numbers = elements(known);
      if (!numbers || known->shape().rank() != 1) return std::nullopt;
      whole = std::move(*numbers);
    } else {
      Shape dims = partial(of.node->input(0));
      if (!dims.known_rank()) return std::nullopt;
      whole.assign(dims.dims().begin(), dims.dims().end());
    }
    std::optional<Slice> slice = slice_of(*of.node, int64_t(whole.size()));
    if (!slice) return std::nullopt;
    std::vector<int64_t> out;
    for (int64_t at : slice->positions) {
      int64_t number = whole[size_t(at)];
      if ((!known && number < 0) || !fits(of.dtype(), number)) return std::nullopt;
      out.push_back(number);
    }
    return whole_numbers(of.dtype(), slice->shrinks ? Shape{} : Shape{int64_t(out.size())}, out);
  }

  Value slice(Output of) {
    if (!is_integer(of.dtype())) return std::nullopt;
    auto whole = elements(value(of.node->input(0)));
    auto begin = elements(value(of.node->input(1))), size = elements(value(of.node->input(2)));
    if (!whole || !begin || !size || begin->size() != 1 || size->size() != 1) return std::nullopt;
    const auto length = int64_t(whole->size()), first = begin->front();
    if (first < 0 || first > length || size->front() < -1) return std::nullopt;
    const int64_t count = size->front() < 0 ? length - first : size->front();
    if (count > length - first) return std::nullopt;
    return whole_numbers(of.dtype(), {count},
                         std::span(*whole).subspan(size_t(first), size_t(count)));
  }

  Shape partial_pack(const Node& node) {
    Shape shape;
    for (const Output& input : node.inputs()) {
      auto dim = elements(value(input));
      shape.push_back(dim && dim->size() == 1 && dim->front() >= 0 ? dim->front() : -1);
    }
    return shape;
  }

  Shape partial_concat(const Node& node) {
    Shape shape;
    for (int i = 0; i + 1 < int(node.inputs().size()); ++i) {
      Shape part = partial(node.input(i));
      if (!part.known_rank() || shape.rank() + part.rank() > Shape::kMaxRank)
        return Shape::unknown();
      for (int64_t dim : part.dims()) shape.push_back(dim);
    }
    return shape;
  }

  Shape partial_slice(const Node& node) {
    Shape whole = partial(node.input(0));
    if (!whole.known_rank()) return Shape::unknown();
    std::optional<Slice> slice = slice_of(node, whole.rank());
    if (!slice || slice->shrinks) return Shape::unknown();
    Shape shape;
    for (int64_t at : slice->positions) shape.push_back(whole[int(at)]);
    return shape;
  }

  bool for_shapes_;
  int visits_ = kMaxVisits;
};

const Evaluator::Rule Evaluator::kRules[] = {
    {"Const", &Evaluator::const_node},
    {"Shape", &Evaluator::shape},
    {"Size", &Evaluator::size},
    {"Rank", &Evaluator::rank},
    {"Range", &Evaluator::range},
    {"Cast", &Evaluator::cast_node},
    {"ConcatV2", &Evaluator::concat},
    {"Pack", &Evaluator::pack},
    {"Unpack", &Evaluator::unpack},
    {"Fill", &Evaluator::fill},
    {"StopGradient", &Evaluator::same},
    {"Identity", &Evaluator::same},
    {"ShapeN", &Evaluator::shape, true},
    {"StridedSlice", &Evaluator::strided_slice, true},
    {"Slice", &Evaluator::slice, true},
    {"Reshape", &Evaluator::reshape, true},
    {"ExpandDims", &Evaluator::reshape, true},
    {"Squeeze", &Evaluator::reshape, true},
    {"GatherV2", &Evaluator::gather, true},
    {"Prod", &Evaluator::prod, true},
    {"Add", &Evaluator::arithmetic, true},
    {"AddV2", &Evaluator::arithmetic, true},
    {"Sub", &Evaluator::arithmetic, true},
    {"Mul", &Evaluator::arithmetic, true},
    {"Maximum", &Evaluator::arithmetic, true},
    {"Minimum", &Evaluator::arithmetic, true},
    {"FloorDiv", &Evaluator::arithmetic, true},
    {"FloorMod", &Evaluator::arithmetic, true},
};

Value Evaluator::value(Output of) {
  if (--visits_ < 0) return std::nullopt;
  for (const Rule& rule : kRules) {
    if (rule.op != of.node->op()) continue;
    if (rule.only_for_shapes && !for_shapes_) break;
    return (this->*rule.value)(of);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Tensor> constant_value(Output value) { return Evaluator(false).value(value); }
std::optional<Tensor> constant_for_shape(Output value) { return Evaluator(true).value(value); }
Shape partial_shape(Output value) { return Evaluator(true).partial(value); }

}  // namespace capstan
