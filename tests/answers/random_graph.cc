#include "answers/random_graph.h"

#include <algorithm>
#include <limits>
#include <map>

#include "answers/samples.h"
#include "graph/attr_kind.h"
#include "ops/catalog.h"
#include "ops/types.h"

namespace capstan {
namespace {

constexpr DType kTypes[] = {DType::kFloat, DType::kFloat, DType::kFloat, DType::kDouble,
                            DType::kInt32, DType::kInt64, DType::kUInt8, DType::kBool};

// --- Values --------------------------------------------------------------------------------------

template <class T>
T drawn(Dice& dice) {
  if constexpr (std::is_same_v<T, bool>) {
    return dice.chance(50);
  } else if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    constexpr T kOdd[] = {Limits::quiet_NaN(),
                          Limits::infinity(),
                          -Limits::infinity(),
                          T(-0.0),
                          Limits::denorm_min(),
                          Limits::max(),
                          T(0),
                          T(1)};
    if (dice.chance(4)) return dice.pick(std::span(kOdd));
    return T(double(dice.next() >> 11) * 0x1p-51 - 2);
  } else {
    constexpr T kOdd[] = {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), T(0)};
    return dice.chance(4) ? dice.pick(std::span(kOdd)) : T(1 + dice.below(6));
  }
}

Tensor drawn_tensor(Dice& dice, DType dtype, const Shape& shape) {
  Tensor t(dtype, shape);
  auto fill = [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < t.size(); ++i) t.data<T>()[i] = drawn<T>(dice);
  };
  switch (dtype) {
    case DType::kFloat: fill(TypeTag<float>()); break;
    case DType::kDouble: fill(TypeTag<double>()); break;
    case DType::kInt32: fill(TypeTag<int32_t>()); break;
    case DType::kInt64: fill(TypeTag<int64_t>()); break;
    case DType::kUInt8: fill(TypeTag<uint8_t>()); break;
    case DType::kBool: fill(TypeTag<bool>()); break;
    default: throw unimplemented("no draws of {}", dtype_name(dtype));
  }
  return t;
}

// --- Graphs --------------------------------------------------------------------------------------

class GraphMaker {
 public:
  GraphMaker(uint64_t seed, const GraphSizes& sizes)
      : dice_(seed),
        sizes_(sizes),
        rows_(pure_rows()),
        question_(std::make_unique<Question>()),
        scope_(question_->graph.name_scope(fmt::format("graph_{}", seed))) {}

  std::unique_ptr<Question> make() {
    for (int i = 0; i < 3; ++i) add_source();
    // A row that does not take what it was offered leaves nodes that nobody fetches.
    for (int i = 0; i < 10 * sizes_.nodes && int(pool_.size()) < 3 + sizes_.nodes; ++i) {
      try {
        add_node();
      } catch (const Error&) {
      }
    }
    choose_fetches();
    scope_.close();
    return std::move(question_);
  }

 private:
  const Tensor& value(Output o) { return question_->interpreter.value(o); }

  // At most about that many elements; now and then none, or a scalar.
  Shape drawn_shape(int64_t elements) {
    Shape shape;
    if (dice_.chance(10)) return shape;
    if (dice_.chance(3)) return Shape{0, 3};
    const int64_t rank = 1 + dice_.below(3);
    for (int64_t i = 0; i < rank && elements > 0; ++i) {
      const bool last = i + 1 == rank;
      int64_t dim = last ? std::max<int64_t>(1, elements - dice_.below(2)) : 1 + dice_.below(5);
      shape.push_back(std::min(dim, elements));
      elements /= dim;
    }
    return shape;
  }

  Output source(DType dtype, const Shape& shape) {
    return question_->add(drawn_tensor(dice_, dtype, shape), dice_.pick(std::span(kOrigins)));
  }

  void add_source() {
    keep(source(dice_.pick(std::span(kTypes)), drawn_shape(1 + dice_.below(sizes_.source))));
  }

  void keep(Output o) {
    const Tensor& v = value(o);
    if (v.size() > sizes_.largest || o.is_ref()) return;
    pool_.push_back(dice_.chance(35) ? question_->detour(o, dice_.pick(std::span(kDetours))) : o);
  }

  void add_node() {
    const OpDef& row = *dice_.pick(rows_);
    const std::string_view text = dice_.pick(row.samples);
    std::vector<SampleInput> inputs = sample_inputs(row, text);
    choose_types(inputs);
    std::vector<Output> operands = row.block ? broadcast_operands(inputs) : like_sample(inputs);
    Node& node = question_->graph.add_node(row.name, operands, parse_sample(row, text).attrs);
    for (int i = 0; i < node.outputs(); ++i) refuse_large(node.output_shape(i));
    question_->interpreter.outputs(node);
    for (int i = 0; i < node.outputs(); ++i) keep(node.output(i));
  }

  void refuse_large(const Shape& shape) const {
    if (shape.fully_defined() && shape.elements() > sizes_.largest)
      throw resource_exhausted("{} is large", shape);
  }

  // Now and then another element type than the sample's, for all inputs under one attr.
  void choose_types(std::vector<SampleInput>& inputs) {
    std::map<std::string_view, bool> free;
    for (const SampleInput& in : inputs) {
      auto [it, first] = free.try_emplace(in.type_attr, in.free);
      it->second &= in.free;
    }
    std::map<std::string_view, DType> types;
    for (SampleInput& in : inputs) {
      if (in.type_attr.empty() || !free[in.type_attr] || !in.free) continue;
      auto [it, first] = types.try_emplace(in.type_attr, in.value.dtype());
      if (first && dice_.chance(50)) it->second = dice_.pick(std::span(kTypes));
      in.value = Tensor(it->second, in.value.shape());
    }
  }

  // The first as it comes, the others so that they broadcast with it.
  std::vector<Output> broadcast_operands(const std::vector<SampleInput>& inputs) {
    std::vector<Output> operands;
    Shape shape;
    for (const SampleInput& in : inputs) {
      Output o;
      if (operands.empty()) {
        Output any = dice_.pick(pool_);
        o = fitted(in.value.dtype(), value(any).shape());
      } else {
        o = fitted(in.value.dtype(), broadcasting_with(value(operands[0]).shape()));
      }
      shape = broadcast(shape, value(o).shape());
      operands.push_back(o);
    }
    refuse_large(shape);
    return operands;
  }

  Shape broadcasting_with(const Shape& shape) {
    Shape out;
    const int skip = dice_.chance(30) && shape.rank() > 0 ? 1 : 0;
    for (int i = skip; i < shape.rank(); ++i) out.push_back(dice_.chance(20) ? 1 : shape[i]);
    return out;
  }

  // Inputs of the sample's shapes, or with its dimensions changed, each wherever it stands.
  std::vector<Output> like_sample(const std::vector<SampleInput>& inputs) {
    // Where no given elements speak of dimensions, these may be others.
    const bool change = dice_.chance(50) &&
                        std::ranges::all_of(inputs, [](const SampleInput& in) { return in.free; });
    std::map<int64_t, int64_t> dims;
    std::vector<Output> operands;
    for (const SampleInput& in : inputs) {
      if (!in.free) {
        operands.push_back(question_->add(in.value, dice_.pick(std::span(kOrigins))));
        continue;
      }
      Shape shape = in.value.shape();
      for (int i = 0; change && i < shape.rank(); ++i) {
        auto [it, first] = dims.try_emplace(shape[i], shape[i]);
        if (first) it->second = drawn_dim();
        shape[i] = it->second;
      }
      refuse_large(shape);
      operands.push_back(fitted(in.value.dtype(), shape));
    }
    return operands;
  }

  int64_t drawn_dim() {
    return dice_.chance(20) ? std::max<int64_t>(1, sizes_.source / 3) : 1 + dice_.below(6);
  }

  // --- Making values fit -------------------------------------------------------------------------

  Output fitted(DType dtype, const Shape& shape) {
    std::vector<Output> exact;
    for (Output o : pool_) {
      if (o.dtype() == dtype && value(o).shape() == shape) exact.push_back(o);
    }
    if (!exact.empty() && dice_.chance(70)) return dice_.pick(exact);
    if (dtype == DType::kString) throw unimplemented("no text to offer");
    Output any = dice_.pick(pool_);
    if (any.dtype() == DType::kString || value(any).size() == 0 || dice_.chance(10))
      return source(dtype, shape);
    return shaped(typed(any, dtype), shape);
  }

  Output typed(Output o, DType dtype) {
    return o.dtype() == dtype ? o : question_->add("Cast", {o}, {{"DstT", dtype}});
  }

  // Repeats or cuts the elements off to as many as are wanted.
  Output shaped(Output o, const Shape& shape) {
    const int64_t wanted = shape.elements(), have = value(o).size();
    if (value(o).shape() == shape) return o;
    if (have != wanted) o = question_->add("Reshape", {o, vector_of(-1)});
    if (have < wanted) o = question_->add("Tile", {o, vector_of((wanted + have - 1) / have)});
    if (value(o).size() > wanted) o = question_->add("Slice", {o, vector_of(0), vector_of(wanted)});
    return question_->add("Reshape", {o, question_->shape_constant(shape.dims())});
  }
  Output vector_of(int64_t n) { return question_->shape_constant(std::array{n}); }

  void choose_fetches() {
    question_->fetches.push_back(pool_.back());
    for (Output o : pool_) {
      if (dice_.chance(25)) question_->fetches.push_back(o);
    }
  }

  Dice dice_;
  const GraphSizes sizes_;
  const std::vector<const OpDef*> rows_;
  std::unique_ptr<Question> question_;
  ScopeGuard scope_;  // names that no other graph has
  std::vector<Output> pool_;
};

}  // namespace

std::vector<const OpDef*> pure_rows() {
  std::vector<const OpDef*> rows;
  for (const OpDef* row : standard_catalog().all()) {
    const bool takes_refs = std::ranges::any_of(
        row->inputs, [&](const ArgDef& arg) { return arg_type(*row, arg).ref; });
    if (!row->stateful && !row->blocking && !takes_refs && row->samples.size() > 0)
      rows.push_back(row);
  }
  return rows;
}

std::unique_ptr<Question> random_graph(uint64_t seed, const GraphSizes& sizes) {
  return GraphMaker(seed, sizes).make();
}

}  // namespace capstan
