#include "jobs/k8s/yaml.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "jobs/k8s/yaml_reader.h"

namespace capstan::jobs::k8s {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c | 0x20) : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

TextPlace place_at(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t begin = before.rfind('\n') + 1;
  return {int(std::ranges::count(before, '\n')) + 1, int(at - begin) + 1};
}

bool is_control(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

// yaml-cpp takes some control characters for its own.
void check_characters(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (is_control(static_cast<unsigned char>(text[at]))) {
      throw TextError{place_at(text, at),
                      fmt::format("a control character (code {}); write it as an escape in double "
                                  "quotes, or remove it",
                                  int(static_cast<unsigned char>(text[at])))};
    }
    const size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      throw TextError{place_at(text, at), "bytes that are no UTF-8; save the file as UTF-8"};
    }
    at += length;
  }
}

// yaml-cpp holds all of a map or list in brackets before it hands any of it over: it is counted
// beforehand, roughly, quotes or not.
void check_brackets(std::string_view text, const ReadLimits& limits) {
  const size_t most = limits.nodes / 4;
  size_t depth = 0, values = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (depth == 0) values = 0;
    if (depth > 0 && (c == '{' || c == '[' || c == ',' || c == ':') && ++values > most) {
      throw TextError{
          place_at(text, i),
          fmt::format("more than {} values within brackets; no job needs as many", most)};
    }
  }
}

bool looks_like_json(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != text.npos && text[at] == '{';
}

// A map in braces is YAML as well: its complaint counts only if it is no JSON by far.
std::vector<Document> read_either(std::string_view text, const ReadLimits& limits) {
  auto read_checked_yaml = [&] { return check_brackets(text, limits), read_yaml(text, limits); };
  if (!looks_like_json(text)) return read_checked_yaml();
  try {
    return read_json(text, limits);
  } catch (const TextError& error) {
    if (!error.message.starts_with("not JSON")) throw;
    try {
      return read_checked_yaml();
    } catch (const TextError&) {
    }
    throw;
  }
}

std::vector<Document> checked(std::string_view text, const ReadLimits& limits) {
  if (text.size() > limits.bytes) {
    throw TextError{{},
                    fmt::format("{} bytes, more than the {} that are read; Kubernetes itself "
                                "takes objects of 3 MB at most",
                                text.size(), limits.bytes)};
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  check_characters(text);
  return read_either(text, limits);
}

std::string_view line_of(std::string_view text, int line) {
  for (; line > 1 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  text = text.substr(0, text.find('\n'));
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

// A long line is shown around the column.
struct Excerpt {
  std::string line;
  size_t column = 0;  // from 0
};

size_t character_begin(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

size_t bytes_of_characters(std::string_view text, size_t characters) {
  size_t at = 0;
  for (; characters > 0 && at < text.size(); --characters) {
    at += std::max<size_t>(1, utf8_length(text.substr(at)));
  }
  return std::min(at, text.size());
}

Excerpt excerpt(std::string_view line, size_t column) {
  constexpr size_t kWidth = 96, kBefore = 48;
  const size_t at = bytes_of_characters(line, column);
  const size_t begin = at > kWidth - 8 ? character_begin(line, at - kBefore) : 0;
  std::string_view part = line.substr(begin);
  part = part.substr(0, character_begin(part, std::min(part.size(), kWidth)));
  Excerpt out{begin > 0 ? "…" : "", 0};
  size_t before = begin > 0 ? 1 : 0;
  for (size_t i = begin; i < at; i += std::max<size_t>(1, utf8_length(line.substr(i)))) ++before;
  out.line += printable(part);
  out.column = before;
  std::ranges::replace(out.line, '\t', ' ');
  return out;
}

}  // namespace

TextPlace place_of(const Places& root, std::string_view path) {
  const Places* at = &root;
  while (!path.empty()) {
    const bool bracket = path[0] == '[';
    const size_t end =
        std::min(bracket ? path.find(']') : path.find_first_of(".[", path[0] == '.'), path.size());
    std::string_view word = path.substr(0, end);
    if (bracket || word.starts_with('.')) word.remove_prefix(1);
    path.remove_prefix(std::min(end + (bracket ? 1 : 0), path.size()));
    const Places* next = nullptr;
    if (auto found = at->fields.find(word); found != at->fields.end()) next = &found->second;
    const bool number =
        !word.empty() && word.size() < 9 && word.find_first_not_of("0123456789") == word.npos;
    if (!next && bracket && number && std::stoul(std::string(word)) < at->items.size()) {
      next = &at->items[std::stoul(std::string(word))];
    }
    for (const auto& [name, places] : at->fields) {
      if (!next && bracket && same_word(name, word)) next = &places;
    }
    if (!next) break;
    at = next;
  }
  return at->here;
}

std::string placed_text(std::string_view text, std::string_view name, TextPlace place,
                        std::string_view message) {
  if (place.line == 0) return fmt::format("{}: {}", name, message);
  const Excerpt shown = excerpt(line_of(text, place.line), size_t(std::max(place.column, 1) - 1));
  return fmt::format("{}:{}:{}: {}\n  {}\n  {:>{}}", name, place.line, place.column, message,
                     shown.line, "^", shown.column + 1);
}

std::vector<Document> read_documents(std::string_view text, std::string_view name,
                                     const ReadLimits& limits) {
  try {
    std::vector<Document> documents = checked(text, limits);
    std::erase_if(documents, [](const Document& one) { return !one.json || one.json->is_null(); });
    return documents;
  } catch (const TextError& error) {
    throw invalid_argument("{}", placed_text(text, name, error.place, error.message));
  }
}

}  // namespace capstan::jobs::k8s
