#include "graph/attr_kind.h"

#include <array>
#include <charconv>
#include <type_traits>

#include "base/error.h"

namespace capstan {
namespace {

// In the order of the alternatives of Attr.
constexpr std::array<std::string_view, std::variant_size_v<Attr>> kKinds = {
    "int",       "float",       "bool",       "string",       "type",       "shape",      "tensor",
    "list(int)", "list(float)", "list(bool)", "list(string)", "list(type)", "list(shape)"};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The items of "[a, [b,c], d]"; brackets nest.
std::vector<std::string_view> list_items(std::string_view text) {
  CAPSTAN_CHECK(text.size() >= 2 && text.front() == '[' && text.back() == ']');
  text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> items;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (text[i] != ',' || depth) continue;
    items.push_back(trim(text.substr(start, i - start)));
    start = i + 1;
  }
  if (!trim(text.substr(start)).empty()) items.push_back(trim(text.substr(start)));
  return items;
}

// Rows are our own text: what cannot be read is a bug of ours.
template <class T>
T number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  CAPSTAN_CHECK(error == std::errc{} && end == text.data() + text.size());
  return value;
}

template <class T>
T parse(std::string_view text);
template <>
int64_t parse(std::string_view text) {
  return number<int64_t>(text);
}
template <>
float parse(std::string_view text) {
  return number<float>(text);
}
template <>
bool parse(std::string_view text) {
  return text == "true";
}
template <>
std::string parse(std::string_view text) {
  bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"');
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}
template <>
DType parse(std::string_view text) {
  return dtype_from_name(text);
}
template <>
Shape parse(std::string_view text) {
  if (text.front() != '[') return Shape::unknown();
  Shape shape;
  for (std::string_view item : list_items(text)) {
    shape.push_back(item == "?" ? -1 : number<int64_t>(item));
  }
  return shape;
}

template <class T>
std::vector<T> parse_list(std::string_view text) {
  std::vector<T> values;
  for (std::string_view item : list_items(text)) values.push_back(parse<T>(item));
  return values;
}

Attr parse_kind(std::string_view kind, std::string_view text) {
  if (kind == "int") return parse<int64_t>(text);
  if (kind == "float") return parse<float>(text);
  if (kind == "bool") return parse<bool>(text);
  if (kind == "string") return parse<std::string>(text);
  if (kind == "type") return parse<DType>(text);
  if (kind == "shape") return parse<Shape>(text);
  if (kind == "list(int)") return parse_list<int64_t>(text);
  if (kind == "list(float)") return parse_list<float>(text);
  if (kind == "list(bool)") return parse_list<bool>(text);
  if (kind == "list(string)") return parse_list<std::string>(text);
  if (kind == "list(type)") return parse_list<DType>(text);
  CAPSTAN_CHECK(kind == "list(shape)");
  return parse_list<Shape>(text);
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

// -1 for what is no list.
int64_t list_length(const Attr& value) {
  return std::visit(
      [](const auto& v) -> int64_t {
        if constexpr (IsVector<std::decay_t<decltype(v)>>::value) return int64_t(v.size());
        return -1;
      },
      value);
}

// The value in another alternative where no information is lost, else as it was.
Attr converted(std::string_view kind, Attr value) {
  if (kind == "float" && std::holds_alternative<int64_t>(value)) {
    return float(std::get<int64_t>(value));
  }
  if (kind == "shape" && std::holds_alternative<std::vector<int64_t>>(value)) {
    return Shape(std::span<const int64_t>(std::get<std::vector<int64_t>>(value)));
  }
  if (kind == "list(float)" && std::holds_alternative<std::vector<int64_t>>(value)) {
    const auto& whole = std::get<std::vector<int64_t>>(value);
    return std::vector<float>(whole.begin(), whole.end());
  }
  if (kind.starts_with("list(") && list_length(value) == 0) return parse_kind(kind, "[]");
  return value;
}

bool is_among(std::string_view allowed, DType type) {
  while (!allowed.empty()) {
    size_t end = allowed.find('|');
    if (dtype_from_name(allowed.substr(0, end)) == type) return true;
    allowed.remove_prefix(end == allowed.npos ? allowed.size() : end + 1);
  }
  return false;
}

bool is_among(std::string_view allowed, std::string_view text) {
  while (!allowed.empty()) {
    size_t end = allowed.find('|');
    if (parse<std::string>(allowed.substr(0, end)) == text) return true;
    allowed.remove_prefix(end == allowed.npos ? allowed.size() : end + 1);
  }
  return false;
}

bool is_allowed(std::string_view allowed, const Attr& value) {
  if (auto* type = std::get_if<DType>(&value)) return is_among(allowed, *type);
  if (auto* text = std::get_if<std::string>(&value)) return is_among(allowed, *text);
  if (auto* types = std::get_if<std::vector<DType>>(&value)) {
    for (DType type : *types) {
      if (!is_among(allowed, type)) return false;
    }
  }
  return true;
}

std::string item_text(int64_t value) { return std::to_string(value); }
std::string item_text(float value) { return fmt::format("{}", value); }
std::string item_text(bool value) { return value ? "true" : "false"; }
std::string item_text(const std::string& value) { return fmt::format("'{}'", value); }
std::string item_text(DType value) { return std::string(dtype_name(value)); }
std::string item_text(const Shape& value) { return value.text(); }
std::string item_text(const Tensor& value) { return value.text(); }
template <class T>
std::string item_text(const std::vector<T>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + item_text(T(values[i]));
  return out + "]";
}

}  // namespace

std::string_view base_kind(const AttrDef& def) {
  return def.kind.substr(0, def.kind.find_first_of(":>"));
}

std::string_view allowed_values(const AttrDef& def) {
  size_t colon = def.kind.find(':');
  return colon == def.kind.npos ? std::string_view() : def.kind.substr(colon + 1);
}

void check_least(const AttrDef& def, const Attr& value) {
  constexpr std::string_view kSign = ">=";
  const size_t sign = def.kind.find(kSign);
  if (sign == def.kind.npos) return;
  const auto least = number<int64_t>(def.kind.substr(sign + kSign.size()));
  const auto* whole = std::get_if<int64_t>(&value);
  const int64_t size = whole ? *whole : list_length(value);
  if (size >= least) return;
  throw invalid_argument("{}attr '{}' is {}, the least is {}", whole ? "" : "the length of ",
                         def.name, size, least);
}

std::optional<Attr> default_attr(const AttrDef& def) {
  if (def.value.empty()) return std::nullopt;
  return parse_kind(base_kind(def), trim(def.value));
}

Attr fitting_attr(const AttrDef& def, Attr value) {
  std::string_view kind = base_kind(def);
  value = converted(kind, std::move(value));
  if (kind_of(value) != kind) {
    throw invalid_argument("attr '{}' must be of kind {}, not {}", def.name, kind, kind_of(value));
  }
  std::string_view allowed = allowed_values(def);
  if (!allowed.empty() && !is_allowed(allowed, value)) {
    throw invalid_argument("attr '{}' is {}, but the op has only {}", def.name, attr_text(value),
                           allowed);
  }
  check_least(def, value);
  return value;
}

std::string attr_text(const Attr& value) {
  return std::visit([](const auto& v) { return item_text(v); }, value);
}

std::string_view kind_of(const Attr& value) { return kKinds[value.index()]; }

const AttrDef* find_attr(const OpDef& def, std::string_view name) {
  for (const AttrDef& attr : def.attrs) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

ArgType arg_type(const OpDef& def, const ArgDef& arg) {
  ArgType out;
  std::string_view type = arg.type;
  if (type.starts_with("Ref(") && type.ends_with(")")) {
    out.ref = true;
    type = type.substr(4, type.size() - 5);
  }
  if (size_t star = type.find('*'); star != type.npos) {
    out.count_attr = trim(type.substr(0, star));
    type = trim(type.substr(star + 1));
    CAPSTAN_CHECK(find_attr(def, out.count_attr));
  }
  const AttrDef* attr = find_attr(def, type);
  if (!attr) {
    out.fixed = dtype_from_name(type);
  } else if (base_kind(*attr) == "type") {
    out.type_attr = type;
  } else {
    CAPSTAN_CHECK(base_kind(*attr) == "list(type)");
    out.list_attr = type;
  }
  return out;
}

}  // namespace capstan
