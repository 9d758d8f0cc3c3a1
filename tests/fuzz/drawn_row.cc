#include "fuzz/drawn_row.h"

#include <cmath>
#include <limits>

#include "graph/attr_kind.h"
#include "ops/sample.h"
#include "ops/types.h"

namespace capstan {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr DType kTypes[] = {DType::kFloat,  DType::kDouble,   DType::kInt32,  DType::kUInt8,
                            DType::kInt16,  DType::kInt8,     DType::kString, DType::kComplex64,
                            DType::kInt64,  DType::kBool,     DType::kUInt16, DType::kHalf,
                            DType::kUInt32, DType::kResource, DType::kUInt64};

// --- Values --------------------------------------------------------------------------------------

template <class T>
T draw_real(Choices& choices) {
  using Limits = std::numeric_limits<T>;
  return choices.of<T>({0, -T(0), 1, -1, T(0.5), T(2.25), T(-3.5), Limits::quiet_NaN(),
                        Limits::infinity(), -Limits::infinity(), Limits::max(), Limits::lowest(),
                        Limits::denorm_min(), T(1e9), T(-7), 3});
}

template <class T>
T draw_whole(Choices& choices) {
  using Limits = std::numeric_limits<T>;
  if (choices.one_in(6)) return choices.of<T>({Limits::min(), Limits::max(), T(Limits::max() / 2)});
  return T(int64_t(choices.below(10)) - (std::is_signed_v<T> ? 3 : 0));
}

void draw_element(Tensor& t, int64_t i, Choices& choices) {
  switch (t.dtype()) {
    case DType::kString:
      t.data<std::string>()[i] = choices.of<std::string>(
          {"", "a", "b", std::string(1, '\0'), "loss", std::string(40, 'x')});
      return;
    case DType::kBool: t.data<bool>()[i] = choices.below(2); return;
    case DType::kFloat: t.data<float>()[i] = draw_real<float>(choices); return;
    case DType::kDouble: t.data<double>()[i] = draw_real<double>(choices); return;
    case DType::kUInt8: t.data<uint8_t>()[i] = draw_whole<uint8_t>(choices); return;
    case DType::kInt8: t.data<int8_t>()[i] = draw_whole<int8_t>(choices); return;
    case DType::kUInt16:
    case DType::kHalf: t.data<uint16_t>()[i] = draw_whole<uint16_t>(choices); return;
    case DType::kInt16: t.data<int16_t>()[i] = draw_whole<int16_t>(choices); return;
    case DType::kUInt32: t.data<uint32_t>()[i] = draw_whole<uint32_t>(choices); return;
    case DType::kInt32: t.data<int32_t>()[i] = draw_whole<int32_t>(choices); return;
    case DType::kUInt64: t.data<uint64_t>()[i] = draw_whole<uint64_t>(choices); return;
    case DType::kInt64: t.data<int64_t>()[i] = draw_whole<int64_t>(choices); return;
    case DType::kComplex64:
      t.data<std::complex<float>>()[i] = {draw_real<float>(choices), 1};
      return;
    default: return;
  }
}

// Large tensors repeat their first elements: a fuzzer has not that many bytes.
Tensor draw_tensor(DType dtype, const Shape& shape, Choices& choices) {
  constexpr int64_t kDrawn = 64;
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < std::min(kDrawn, t.size()); ++i) draw_element(t, i, choices);
  const size_t size = dtype_size(dtype);
  for (int64_t i = kDrawn; i < t.size(); ++i) {
    if (dtype == DType::kString) {
      t.data<std::string>()[i] = t.data<std::string>()[i % kDrawn];
    } else {
      char* bytes = static_cast<char*>(t.raw());
      std::memcpy(bytes + size_t(i) * size, bytes + size_t(i % kDrawn) * size, size);
    }
  }
  return t;
}

// --- Shapes --------------------------------------------------------------------------------------

Shape draw_shape(Choices& choices) {
  if (choices.one_in(48)) return Shape{choices.of<int64_t>({1031, 70'001, 140'003})};
  if (choices.one_in(48)) return Shape{0, int64_t(1) << 40, int64_t(1) << 30};
  Shape shape;
  const uint64_t rank = choices.below(6);
  for (uint64_t i = 0; i < rank; ++i)
    shape.push_back(choices.of<int64_t>({2, 3, 1, 0, 5, 2, 3, 17}));
  for (int i = 0; shape.elements() > 4096; ++i) shape[i] = 1;
  return shape;
}

// A shape that goes with another one, or nearly does.
Shape draw_related(const Shape& base, Choices& choices) {
  Shape shape = base;
  switch (choices.below(8)) {
    case 0: return Shape{};
    case 1: return Shape{base.rank()};
    case 2: return draw_shape(choices);
    case 3:
      if (shape.rank() > 0) shape[int(choices.below(uint64_t(shape.rank())))] = 1;
      return shape;
    case 4:
      if (shape.rank() > 0 && shape.elements() < 1024)
        ++shape[int(choices.below(uint64_t(shape.rank())))];
      return shape;
    case 5: return base.rank() > 0 ? Shape(base.dims().subspan(1)) : base;
    default: return base;
  }
}

// What is known of a shape when the graph is built.
Shape draw_knowledge(const Shape& shape, Choices& choices) {
  Shape known = shape;
  switch (choices.below(4)) {
    case 0: return Shape::unknown();
    case 1:
      for (int i = 0; i < known.rank(); ++i) {
        if (choices.below(2)) known[i] = -1;
      }
      return known;
    default: return known;
  }
}

// --- Attrs ---------------------------------------------------------------------------------------

DType draw_type(std::string_view allowed, Choices& choices) {
  if (allowed.empty() || choices.one_in(12)) return kTypes[choices.below(std::size(kTypes))];
  std::vector<DType> types;
  while (!allowed.empty()) {
    const size_t end = std::min(allowed.find('|'), allowed.size());
    types.push_back(dtype_from_name(allowed.substr(0, end)));
    allowed.remove_prefix(std::min(end + 1, allowed.size()));
  }
  return types[choices.below(types.size())];
}

std::string draw_text(std::string_view allowed, Choices& choices) {
  const size_t bar = allowed.find('|');
  if (!allowed.empty() && !choices.one_in(8))
    return std::string(bar == allowed.npos || choices.below(2) ? allowed.substr(bar + 1)
                                                               : allowed.substr(0, bar));
  return choices.of<std::string>({"", "name", "MEAN", std::string("\0x", 2)});
}

int64_t draw_int(Choices& choices) {
  if (choices.one_in(8)) return choices.of<int64_t>({kLeast, kMost, int64_t(1) << 31, 1 << 20, -7});
  return int64_t(choices.below(5)) - 1;
}

Attr draw_attr(const AttrDef& attr, Choices& choices) {
  const std::string_view kind = base_kind(attr), allowed = allowed_values(attr);
  if (kind == "type") return draw_type(allowed, choices);
  if (kind == "int") return draw_int(choices);
  if (kind == "float") return draw_real<float>(choices);
  if (kind == "bool") return choices.below(2) == 1;
  if (kind == "string") return draw_text(allowed, choices);
  if (kind == "shape") return draw_knowledge(draw_shape(choices), choices);
  if (kind == "tensor") return draw_tensor(draw_type("", choices), draw_shape(choices), choices);
  const uint64_t length = choices.below(4);
  std::vector<int64_t> ints;
  std::vector<DType> types;
  std::vector<Shape> shapes;
  for (uint64_t i = 0; i < length; ++i) {
    ints.push_back(draw_int(choices));
    types.push_back(draw_type(allowed, choices));
    shapes.push_back(draw_shape(choices));
  }
  if (kind == "list(type)") return types;
  if (kind == "list(shape)") return shapes;
  return ints;
}

// --- Rows ----------------------------------------------------------------------------------------

class RowDrawer {
 public:
  RowDrawer(const OpDef& def, Choices& choices, DrawnRow& drawn)
      : def_(def), choices_(choices), drawn_(drawn) {}

  void draw() {
    const bool sampled = def_.samples.size() > 0 && choices_.below(3) > 0;
    sampled ? draw_sample() : draw_schema();
    for (const AttrDef& attr : def_.attrs) {
      const bool wanted = !attrs_.has(attr.name) && (!attr.value.empty() || !is_inferred(attr));
      if (wanted && (attr.value.empty() || choices_.one_in(3)))
        attrs_.set(std::string(attr.name), draw_attr(attr, choices_));
    }
    std::vector<Output> from;
    for (const DrawnRow::Input& input : drawn_.inputs) from.push_back(input.from);
    drawn_.node = &drawn_.graph.add_node(def_.name, from, attrs_, "row");
  }

 private:
  // Whether the inputs say it.
  bool is_inferred(const AttrDef& attr) const {
    for (const ArgDef& arg : def_.inputs) {
      const ArgType type = arg_type(def_, arg);
      if (type.type_attr == attr.name || type.list_attr == attr.name ||
          type.count_attr == attr.name)
        return true;
    }
    return false;
  }

  // A sample of the row, most of the time with one thing changed.
  void draw_sample() {
    const auto text = def_.samples[choices_.below(def_.samples.size())];
    Sample sample = parse_sample(def_, text, choices_.of({DType::kFloat, DType::kDouble}));
    attrs_ = sample.attrs;
    const uint64_t changed = choices_.below(2 * sample.inputs.size() + 1);
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      if (i == changed) change(sample.inputs[i]);
      add_input(sample.inputs[i], i < def_.inputs.size() && arg_type(def_, def_.inputs[i]).ref);
    }
    if (changed == sample.inputs.size()) change_attr();
  }

  void change(Tensor& value) {
    const DType dtype =
        choices_.one_in(8) ? kTypes[choices_.below(std::size(kTypes))] : value.dtype();
    const Shape shape = choices_.below(2) ? value.shape() : draw_related(value.shape(), choices_);
    if (dtype_size(dtype) > 0) value = draw_tensor(dtype, shape, choices_);
  }

  void change_attr() {
    if (def_.attrs.size() == 0) return;
    const AttrDef& attr = def_.attrs[choices_.below(def_.attrs.size())];
    attrs_.set(std::string(attr.name), draw_attr(attr, choices_));
  }

  void draw_schema() {
    base_ = draw_shape(choices_);
    for (const ArgDef& arg : def_.inputs) {
      const ArgType type = arg_type(def_, arg);
      uint64_t count = 1;
      if (!type.count_attr.empty()) count = count_of(type.count_attr);
      if (!type.list_attr.empty()) count = choices_.below(4);
      for (uint64_t i = 0; i < count; ++i) draw_input(type);
    }
  }

  // Lists that share a count have one length.
  uint64_t count_of(std::string_view attr) {
    if (!counts_.has(attr)) counts_.set(std::string(attr), int64_t(choices_.below(4)));
    return uint64_t(counts_.get<int64_t>(attr));
  }

  DType type_of(const ArgType& type) {
    if (type.fixed != DType::kInvalid) return type.fixed;
    const AttrDef* attr = find_attr(def_, type.type_attr);
    if (!attr) return kTypes[choices_.below(std::size(kTypes))];
    if (!types_.has(attr->name))
      types_.set(std::string(attr->name), draw_type(allowed_values(*attr), choices_));
    return choices_.one_in(32) ? DType::kInt64 : types_.get<DType>(attr->name);
  }

  void draw_input(const ArgType& type) {
    const DType dtype = type_of(type);
    const bool handle = dtype == DType::kResource || (type.ref && dtype == DType::kString);
    if (handle && choices_.below(8)) return add_handle(dtype);
    if (dtype_size(dtype) == 0) return add_unfed(dtype);
    const Shape shape = choices_.below(2) ? base_ : draw_related(base_, choices_);
    add_input(draw_tensor(dtype, shape, choices_), type.ref);
  }

  // A queue or an accumulator, whichever the row would have or not.
  void add_handle(DType dtype) {
    const bool old = dtype == DType::kString, queue = choices_.below(2);
    Output made;
    if (queue) {
      made = drawn_.graph.add(
          old ? "FIFOQueue" : "FIFOQueueV2", {},
          {{"component_types", std::vector<DType>{DType::kFloat}}, {"capacity", int64_t(2)}});
    } else {
      made = drawn_.graph.add(old ? "ConditionalAccumulator" : "ResourceConditionalAccumulator", {},
                              {{"dtype", DType::kFloat}, {"shape", draw_knowledge({2}, choices_)}});
    }
    drawn_.inputs.push_back({made, {}});
  }

  void add_unfed(DType dtype) {
    drawn_.inputs.push_back({drawn_.graph.add("Placeholder", {}, {{"dtype", dtype}}), {}});
  }

  void add_input(Tensor value, bool ref) {
    Graph& graph = drawn_.graph;
    const Shape known = draw_knowledge(value.shape(), choices_);
    if (ref) {
      Output variable = graph.add("VariableV2", {}, {{"dtype", value.dtype()}, {"shape", known}});
      drawn_.inputs.push_back({variable, choices_.one_in(12) ? Tensor() : value, true});
    } else if (choices_.below(2)) {
      drawn_.inputs.push_back({graph.constant(value), value});
    } else {
      Output fed = graph.add("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", known}});
      drawn_.inputs.push_back({fed, value, false, true});
    }
  }

  const OpDef& def_;
  Choices& choices_;
  DrawnRow& drawn_;
  AttrMap attrs_, types_, counts_;
  Shape base_;
};

}  // namespace

void draw_row(const OpDef& def, Choices& choices, DrawnRow& drawn) {
  RowDrawer(def, choices, drawn).draw();
}

}  // namespace capstan
