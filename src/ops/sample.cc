#include "ops/sample.h"

#include <charconv>
#include <optional>

#include "graph/attr_kind.h"
#include "ops/types.h"

namespace capstan {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <class T = double>
T parse_number(std::string_view text) {
  T value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw invalid_argument("'{}' in a sample is not a number of its type", text);
  }
  return value;
}

// The part between `open` and `close`, cut off the front of `text`; nothing when it does not start
// so.
std::optional<std::string_view> bracketed(std::string_view& text, char open, char close) {
  if (text.empty() || text[0] != open) return std::nullopt;
  size_t end = text.find(close);
  if (end == std::string_view::npos)
    throw invalid_argument("'{}' in a sample lacks its '{}'", text, close);
  std::string_view inside = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return inside;
}

// Numbers that look random and are the same in every run.
class Draws {
 public:
  double next(double low, double high) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * double(state_ >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_ = 88172645463325252u;
};

// f(TypeTag<T>()) for the element type.
template <class F>
void for_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat: return f(TypeTag<float>());
    case DType::kDouble: return f(TypeTag<double>());
    case DType::kBool: return f(TypeTag<bool>());
    case DType::kUInt8: return f(TypeTag<uint8_t>());
    case DType::kInt8: return f(TypeTag<int8_t>());
    case DType::kInt16: return f(TypeTag<int16_t>());
    case DType::kUInt16: return f(TypeTag<uint16_t>());
    case DType::kInt32: return f(TypeTag<int32_t>());
    case DType::kUInt32: return f(TypeTag<uint32_t>());
    case DType::kInt64: return f(TypeTag<int64_t>());
    case DType::kUInt64: return f(TypeTag<uint64_t>());
    case DType::kString: return f(TypeTag<std::string>());
    default: throw invalid_argument("a sample cannot give elements of type {}", dtype_name(dtype));
  }
}

void draw_element(Tensor& t, int64_t i, double value) {
  for_element(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, std::string>) {
      throw invalid_argument("a sample must give the elements of strings");
    } else if constexpr (std::is_same_v<T, bool>) {
      t.data<T>()[i] = value > 0;
    } else {
      t.data<T>()[i] = T(value);
    }
  });
}

// Whole numbers are read as such: a double does not hold the largest.
void read_element(Tensor& t, int64_t i, std::string_view text) {
  for_element(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, std::string>) {
      t.data<T>()[i] = std::string(text);
    } else if constexpr (std::is_same_v<T, bool>) {
      t.data<T>()[i] = parse_number(text) > 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      t.data<T>()[i] = T(parse_number(text));
    } else {
      t.data<T>()[i] = parse_number<T>(text);
    }
  });
}

Tensor parse_tensor(std::string_view word, DType reals, Draws& draws) {
  std::string_view rest = word;
  size_t bracket = std::min(word.find('['), word.size());
  DType dtype = dtype_from_name(word.substr(0, bracket));
  if (dtype == DType::kFloat) dtype = reals;
  rest.remove_prefix(bracket);
  auto dims = bracketed(rest, '[', ']');
  if (!dims) throw invalid_argument("'{}' in a sample has no shape", word);
  Shape shape;
  for (std::string_view dim : split(*dims, ',')) shape.push_back(int64_t(parse_number(dim)));
  Tensor t(dtype, shape);
  if (auto values = bracketed(rest, '{', '}')) {
    std::vector<std::string_view> items = split(*values, ',');
    if (int64_t(items.size()) != t.size())
      throw invalid_argument("'{}' does not give {} values", word, t.size());
    for (int64_t i = 0; i < t.size(); ++i) read_element(t, i, items[size_t(i)]);
    return t;
  }
  double low = is_floating(dtype) || dtype == DType::kBool ? -1 : 0,
         high = is_floating(dtype) ? 1 : 5;
  if (auto bounds = bracketed(rest, '(', ')')) {
    std::vector<std::string_view> items = split(*bounds, ',');
    if (items.size() != 2) throw invalid_argument("'{}' in a sample needs two bounds", word);
    low = parse_number(items[0]), high = parse_number(items[1]);
  }
  for (int64_t i = 0; i < t.size(); ++i) draw_element(t, i, draws.next(low, high));
  return t;
}

}  // namespace

Sample parse_sample(const OpDef& def, std::string_view text, DType reals) {
  Sample sample;
  Draws draws;
  for (std::string_view word : split(text, ' ')) {
    size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      sample.inputs.push_back(parse_tensor(word, reals, draws));
      continue;
    }
    std::string_view name = word.substr(0, equals);
    const AttrDef* attr = find_attr(def, name);
    if (!attr)
      throw invalid_argument("the sample '{}' of {} names an unknown attr", text, def.name);
    sample.attrs.set(std::string(name), *default_attr({name, attr->kind, word.substr(equals + 1)}));
  }
  return sample;
}

}  // namespace capstan
