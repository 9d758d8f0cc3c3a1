#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "base/printable.h"
#include "jobs/k8s/fields.h"
#include "jobs/k8s/quantity.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

// "the text "3"", for a message.
std::string shown(const json& value) {
  constexpr size_t kMost = 40;
  switch (value.type()) {
    case json::value_t::object: return "a map";
    case json::value_t::array: return "a list";
    case json::value_t::boolean: return fmt::format("the boolean {}", value.get<bool>());
    case json::value_t::string: {
      const std::string text = printable(value.get<std::string>());
      return fmt::format("the text \"{}\"",
                         text.size() > kMost ? text.substr(0, kMost) + "…" : text);
    }
    default: return fmt::format("the number {}", value.dump().substr(0, kMost));
  }
}

class Checker {
 public:
  Checker(bool strict, std::vector<FieldError>& errors) : strict_(strict), errors_(errors) {}

  void object(const json& value, std::span<const Field> fields, bool open,
              const std::string& path) {
    if (!is(value.is_object(), value, "a map of names to values", path)) return;
    for (const auto& [name, one] : value.items()) {
      const auto known = std::ranges::find(fields, name, &Field::name);
      const std::string below = path.empty() ? name : path + "." + name;
      if (known != fields.end()) {
        field(one, *known, below);
      } else if (strict_) {
        unknown(name, fields, open, below);
      }
    }
  }

 private:
  void field(const json& value, const Field& field, const std::string& path) {
    if (value.is_null()) return;
    switch (field.kind) {
      case FieldKind::kText: return text(value, field, path);
      case FieldKind::kTime: return text(value, field, path);
      case FieldKind::kWhole: return whole(value, field, path);
      case FieldKind::kFlag: return flag(value, path);
      case FieldKind::kObject: return object(value, field.fields, field.open, path);
      case FieldKind::kListOf: return list_of(value, field, path);
      case FieldKind::kMapOf: return map_of(value, field, path);
      case FieldKind::kTexts: return texts(value, path);
      case FieldKind::kWholes: return wholes(value, field, path);
      case FieldKind::kTextMap: return text_map(value, path);
      case FieldKind::kQuantities: return quantities(value, path);
      case FieldKind::kAny: return;
    }
  }

  void text(const json& value, const Field& field, const std::string& path) {
    if (value.is_boolean() || value.is_number()) {
      return fail(path, "Invalid",
                  fmt::format("must be text, not {}; put it in quotes: \"{}\"", shown(value),
                              value.dump()));
    }
    if (!is(value.is_string(), value, "text", path) || field.words.empty()) return;
    const std::string word = value.get<std::string>();
    const std::vector<std::string> words(field.words.begin(), field.words.end());
    if (std::ranges::find(words, word) != words.end()) return;
    fail(path, "NotSupported",
         fmt::format("{} is none of {}{}", shown(value), fmt::join(words, ", "),
                     nearest_word(word, words)));
  }

  // Also where only the case differs.
  static std::string nearest_word(const std::string& word, const std::vector<std::string>& words) {
    for (const std::string& known : words) {
      auto lower = [](unsigned char c) { return std::tolower(c); };
      if (std::ranges::equal(word, known, {}, lower, lower)) {
        return fmt::format("; did you mean {}?", known);
      }
    }
    return did_you_mean(word, words);
  }

  void whole(const json& value, const Field& field, const std::string& path) {
    const bool quoted =
        value.is_string() && !value.get_ref<const std::string&>().empty() &&
        value.get_ref<const std::string&>().find_first_not_of("0123456789") == std::string::npos;
    if (quoted) {
      return fail(path, "Invalid",
                  fmt::format("must be a whole number, not {}; remove the quotes", shown(value)));
    }
    if (!is(value.is_number_integer(), value, "a whole number", path)) return;
    const bool huge = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(field.most);
    if (!huge && value.get<int64_t>() >= field.least && value.get<int64_t>() <= field.most) return;
    fail(path, "Invalid",
         fmt::format("{} is not between {} and {}", value.dump(), field.least, field.most));
  }

  void flag(const json& value, const std::string& path) {
    is(value.is_boolean(), value, "true or false, without quotes", path);
  }

  void list_of(const json& value, const Field& field, const std::string& path) {
    if (!is(value.is_array(), value, "a list (lines that begin with -)", path)) return;
    for (size_t i = 0; i < value.size(); ++i) {
      object(value[i], field.fields, field.open, fmt::format("{}[{}]", path, i));
    }
  }

  void map_of(const json& value, const Field& field, const std::string& path) {
    if (!is(value.is_object(), value, "a map of names to values", path)) return;
    for (const auto& [name, one] : value.items()) {
      const std::string below = fmt::format("{}[{}]", path, name);
      if (!one.is_null()) object(one, field.fields, field.open, below);
    }
  }

  void texts(const json& value, const std::string& path) {
    if (!is(value.is_array(), value, "a list of texts", path)) return;
    for (size_t i = 0; i < value.size(); ++i) {
      text(value[i], {.name = "", .kind = FieldKind::kText, .doc = ""},
           fmt::format("{}[{}]", path, i));
    }
  }

  void wholes(const json& value, const Field& field, const std::string& path) {
    if (!is(value.is_array(), value, "a list of whole numbers", path)) return;
    for (size_t i = 0; i < value.size(); ++i) {
      whole(value[i], field, fmt::format("{}[{}]", path, i));
    }
  }

  void text_map(const json& value, const std::string& path) {
    if (!is(value.is_object(), value, "a map of names to texts", path)) return;
    for (const auto& [name, one] : value.items()) {
      if (one.is_null()) continue;
      text(one, {.name = "", .kind = FieldKind::kText, .doc = ""},
           fmt::format("{}[{}]", path, name));
    }
  }

  void quantities(const json& value, const std::string& path) {
    if (!is(value.is_object(), value, "a map of names to amounts", path)) return;
    for (const auto& [name, one] : value.items()) {
      if (quantity_of(one)) continue;
      fail(fmt::format("{}[{}]", path, name), "Invalid",
           fmt::format("must be an amount such as 2, 500m or 1Gi, not {}", shown(one)));
    }
  }

  void unknown(const std::string& name, std::span<const Field> fields, bool open,
               const std::string& path) {
    std::vector<std::string> names;
    for (const Field& field : fields) names.emplace_back(field.name);
    const std::string near = nearest_word(name, names);
    if (open && near.empty()) return;
    std::string message = fmt::format("there is no field {}{}", printable(name), near);
    if (near.empty()) message += fmt::format("; there are {}", fmt::join(names, ", "));
    fail(path, "Unknown", std::move(message));
  }

  bool is(bool right, const json& value, std::string_view expected, const std::string& path) {
    if (!right) {
      fail(path, "Invalid",
           value.is_null() ? fmt::format("is empty; expected {}", expected)
                           : fmt::format("must be {}, not {}", expected, shown(value)));
    }
    return right;
  }

  void fail(const std::string& path, std::string kind, std::string message) {
    errors_.push_back({printable(path), std::move(kind), std::move(message)});
  }

  const bool strict_;
  std::vector<FieldError>& errors_;
};

}  // namespace

void check_fields(const json& value, std::span<const Field> fields, bool open,
                  const std::string& path, bool strict, std::vector<FieldError>& errors) {
  Checker(strict, errors).object(value, fields, open, path);
}

}  // namespace capstan::jobs::k8s
