#include "jobs/script/macro.h"

#include <charconv>
#include <optional>

#include "base/error.h"
#include "jobs/json_text.h"
#include "jobs/random_hex.h"
#include "jobs/script/variables.h"
#include "jobs/script/words.h"

namespace capstan::script {
namespace {

constexpr size_t kLongestPlaceholder = 200;
constexpr size_t kLongestBody = 16 << 20;

using Arguments = std::vector<std::string>;

// `word`: "uuid()", "next(named,x)" (the argument that follows the word named, else x), or itself.
std::string standard(std::string_view word, const Arguments& arguments) {
  if (word == "uuid()") return jobs::random_hex(16);
  if (!word.starts_with("next(") || !word.ends_with(")")) return std::string(word);
  const std::string_view inside = word.substr(5, word.size() - 6);
  const size_t comma = inside.find(',');
  const std::string_view wanted = trimmed(inside.substr(0, comma));
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == wanted) return arguments[i + 1];
  }
  return comma == inside.npos ? std::string()
                              : standard(trimmed(inside.substr(comma + 1)), arguments);
}

class Filler {
 public:
  Filler(std::string_view name, const Arguments& arguments) : name_(name), arguments_(arguments) {}

  // What `{inside}` stands for; nothing: it is no placeholder.
  std::optional<std::string> value(std::string_view inside) {
    if (inside.empty()) return argument(int(next_++));
    if (inside == ":all") return jobs::json_strings(arguments_);
    int index = 0;
    auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), index);
    if (error != std::errc()) return std::nullopt;
    const std::string_view after = inside.substr(size_t(end - inside.data()));
    if (after.empty() && index >= 0) return argument(index);
    if (!after.starts_with(':')) return std::nullopt;
    if (index >= 0 && size_t(index) < arguments_.size()) return arguments_[size_t(index)];
    return standard(trimmed(after.substr(1)), arguments_);
  }

 private:
  std::string argument(int index) const {
    if (size_t(index) < arguments_.size()) return arguments_[size_t(index)];
    throw invalid_argument("!{} needs at least {} arguments, and has {}", name_, index + 1,
                           arguments_.size());
  }

  std::string_view name_;
  const Arguments& arguments_;
  size_t next_ = 0;
};

void append(std::string& out, std::string_view text, std::string_view name) {
  if (out.size() + text.size() > kLongestBody)
    throw resource_exhausted("!{} becomes longer than {} MB", name, kLongestBody >> 20);
  out += text;
}

std::string by_position(std::string_view name, std::string_view body, const Arguments& arguments) {
  Filler filler(name, arguments);
  std::string out;
  size_t done = 0;
  for (size_t at = body.find('{'); at != body.npos; at = body.find('{', at + 1)) {
    // `${name}` is a template, whatever its name is.
    if (at > 0 && body[at - 1] == '$') continue;
    const size_t end = body.substr(0, at + kLongestPlaceholder).find_first_of("{}\n", at + 1);
    if (end == body.npos || body[end] != '}') continue;
    const auto value = filler.value(body.substr(at + 1, end - at - 1));
    if (!value) continue;
    append(out, body.substr(done, at - done), name);
    append(out, *value, name);
    done = end + 1;
    at = end;
  }
  append(out, body.substr(done), name);
  return out;
}

// `_ -path /a -t x`
std::string by_name(std::string_view name, std::string_view body, const Arguments& arguments) {
  Variables given;
  for (size_t i = 1; i < arguments.size(); i += 2) {
    const std::string& key = arguments[i];
    if (key.size() < 2 || key[0] != '-' || i + 1 == arguments.size()) {
      throw invalid_argument("!{} _ takes pairs of -name and value; {} is none", name,
                             key.empty() ? "an empty argument" : key);
    }
    given[key.substr(1)] = {arguments[i + 1]};
  }
  const Variables none;
  return Templates(given, none).render(body).text;
}

}  // namespace

std::string expand_macro(std::string_view name, std::string_view body,
                         const std::vector<std::string>& arguments) {
  const bool named = !arguments.empty() && arguments[0] == "_";
  return named ? by_name(name, body, arguments) : by_position(name, body, arguments);
}

}  // namespace capstan::script
