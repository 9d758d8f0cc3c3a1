// Values that follow from constants: the rows' own kernels find them while the graph is built.

#include <algorithm>

#include "graph/catalog.h"
#include "graph/graph.h"
#include "graph/shape_context.h"
#include "graph/signature.h"

namespace capstan {
namespace {

// Larger results are not worth making at construction (a Const of any size is shared, not made).
constexpr int64_t kMaxElements = 1 << 16;
// Nodes looked at for one value: graphs out of files may be deep or share inputs many times over.
constexpr int kMaxVisits = 256;

// A value of which some elements may be unknown: those in which the two differ. Both come of one
// computation, with every number that is not known taken for kOne and for kOther.
struct Known {
  Tensor one, other;
  bool whole() const {
    return one.raw() == other.raw() ? one.shape() == other.shape() : one.equals(other);
  }
};
constexpr int64_t kOne = 1, kOther = 2;

using Maybe = std::optional<Known>;

bool is_small(const Shape& shape) {
  return shape.fully_defined() && shape.elements() <= kMaxElements;
}

// What runs for its value alone, the same every time. What hands on its input may be fed.
bool is_pure(const Node& node) {
  const OpDef& def = node.def();
  if (def.stateful || def.variable || def.writes || def.hands_on || node.inputs().empty())
    return false;
  for (int i = 0; i < int(node.inputs().size()); ++i) {
    if (node.input(i).is_ref()) return false;
  }
  return def.block || def.kernel;
}

Shape with_unknowns(const Shape& shape, int64_t dim) {
  Shape out;
  for (int64_t known : shape.dims()) out.push_back(known < 0 ? dim : known);
  return out;
}

Tensor whole_numbers(DType dtype, const Shape& shape, int64_t value) {
  Tensor out(dtype, shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    if (dtype == DType::kInt64) {
      out.data<int64_t>()[i] = value;
    } else {
      out.data<int32_t>()[i] = int32_t(value);
    }
  }
  return out;
}

bool is_index(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

class Evaluator {
 public:
  explicit Evaluator(bool for_shapes) : for_shapes_(for_shapes) {}

  Maybe known(Output of) {
    if (--visits_ < 0) return std::nullopt;
    const Node& node = *of.node;
    const OpDef& def = node.def();
    if (!for_shapes_ && !def.foretold) return std::nullopt;
    if (def.constant) {
      const Tensor& value = node.attrs().get<Tensor>("value");
      return Known{value, value};
    }
    if (!is_pure(node)) return std::nullopt;
    // Whoever hands out a value of unknown size may hand out a large one.
    const bool bounded = def.from_shapes || is_small(of.shape());
    return bounded ? computed(of) : std::nullopt;
  }

 private:
  Maybe computed(Output of) {
    std::vector<Tensor> one, other;
    bool whole = true;
    for (int i = 0; i < int(of.node->inputs().size()); ++i) {
      Maybe input = of.node->def().from_shapes ? shaped(of.node->input(i)) : operand(*of.node, i);
      if (!input) return std::nullopt;
      whole = whole && input->whole();
      one.push_back(std::move(input->one));
      other.push_back(std::move(input->other));
    }
    return run(of, std::move(one), std::move(other), whole);
  }

  Maybe run(Output of, std::vector<Tensor> one, std::vector<Tensor> other, bool whole) {
    const Catalog& catalog = of.node->graph().catalog();
    const auto result = [&](std::vector<Tensor> inputs) {
      return catalog.run(*of.node, std::move(inputs))[size_t(of.index)];
    };
    try {
      const Tensor first = result(std::move(one));
      return Known{first, whole ? first : result(std::move(other))};
    } catch (const Error&) {
      return std::nullopt;  // a step that runs the node says what is wrong with it
    }
  }

  // A tensor without bytes: the row looks at its shape alone.
  Maybe shaped(Output of) {
    const Shape& shape = of.shape();
    if (!shape.known_rank()) return std::nullopt;
    const auto bare = [&](int64_t dim) {
      return Tensor::view(of.dtype(), with_unknowns(shape, dim), nullptr, nullptr);
    };
    if (shape.fully_defined()) return Known{bare(kOne), bare(kOne)};
    return for_shapes_ ? Maybe(Known{bare(kOne), bare(kOther)}) : std::nullopt;
  }

  // What is only moved may be unknown; what says where to is not.
  Maybe operand(const Node& node, int i) {
    Maybe value = known(node.input(i));
    if (value && value->whole()) return value;
    const bool moved = for_shapes_ && node.def().moves && is_moved(node, i) &&
                       is_index(node.input(i).dtype()) && is_index(node.output_type(0));
    if (!moved) return std::nullopt;
    return value ? value : nothing_known(node.input(i));
  }

  static bool is_moved(const Node& node, int i) {
    return input_arg(node, i).type == node.def().inputs[0].type;
  }

  static Maybe nothing_known(Output of) {
    if (!of.shape().fully_defined() || of.shape().elements() > Shape::kMaxRank) return std::nullopt;
    return Known{whole_numbers(of.dtype(), of.shape(), kOne),
                 whole_numbers(of.dtype(), of.shape(), kOther)};
  }

  bool for_shapes_;
  int visits_ = kMaxVisits;
};

std::optional<Tensor> whole_value(Output of, bool for_shapes) {
  const Maybe known = Evaluator(for_shapes).known(of);
  return known && known->whole() ? std::optional(known->one) : std::nullopt;
}

int64_t element(const Tensor& vector, int64_t i) {
  return vector.dtype() == DType::kInt64 ? vector.data<int64_t>()[i] : vector.data<int32_t>()[i];
}

// Vectors that no shape could come from stay without a value here, rather than fail.
Shape dimensions(const Known& vector) {
  if (!is_index(vector.one.dtype()) || vector.one.shape().rank() != 1 ||
      vector.one.size() > Shape::kMaxRank)
    return Shape::unknown();
  Shape out;
  for (int64_t i = 0; i < vector.one.size(); ++i) {
    const int64_t dim = element(vector.one, i);
    if (dim < -1) return Shape::unknown();
    out.push_back(dim == element(vector.other, i) ? dim : -1);
  }
  return out;
}

}  // namespace

std::optional<Tensor> constant_value(Output of) { return whole_value(of, false); }
std::optional<Tensor> constant_for_shape(Output of) { return whole_value(of, true); }

Shape partial_shape(Output of) {
  if (const Maybe known = Evaluator(true).known(of)) return dimensions(*known);
  const Shape& shape = of.shape();
  const bool known_length = shape.fully_defined() && shape.rank() == 1;
  return known_length && shape[0] <= Shape::kMaxRank ? Shape::unknown_of_rank(int(shape[0]))
                                                     : Shape::unknown();
}

}  // namespace capstan
