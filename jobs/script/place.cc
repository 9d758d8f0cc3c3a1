#include "jobs/script/place.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace capstan::script {
namespace {

// As many characters of a line are shown on each side of the place.
constexpr size_t kShownAround = 100;

std::string_view text_of(const Place& place) {
  return place.source ? std::string_view(place.source->text) : std::string_view();
}

size_t offset_in(const Place& place) { return std::min(place.offset, text_of(place).size()); }

size_t line_begin(const Place& place) {
  const std::string_view before = text_of(place).substr(0, offset_in(place));
  const size_t newline = before.rfind('\n');
  return newline == before.npos ? 0 : newline + 1;
}

// One element per character, each as wide as one: a tab is a space, and what a terminal could obey,
// or what is no UTF-8, is a question mark.
std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string one(text.substr(0, std::max<size_t>(length, 1)));
    text.remove_prefix(one.size());
    const bool shown = length > 0 && printable(one) == one;
    out.push_back(one == "\t" ? " " : shown ? one : "?");
  }
  return out;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(std::max<size_t>(utf8_length(text), 1));
  return count;
}

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// What stands before the place on its line; of a long one only so much as is shown.
std::vector<std::string> shown_before(const Place& place) {
  const std::string_view text = text_of(place);
  const size_t end = offset_in(place);
  size_t begin = line_begin(place);
  if (end - begin > 4 * kShownAround) {
    begin = end - 4 * kShownAround;
    while (begin < end && continues_character(text[begin])) ++begin;
  }
  std::vector<std::string> out = characters(text.substr(begin, end - begin));
  if (out.size() > kShownAround) out.erase(out.begin(), out.end() - kShownAround);
  return out;
}

std::vector<std::string> shown_after(const Place& place) {
  std::string_view rest = text_of(place).substr(offset_in(place), 4 * kShownAround);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  std::vector<std::string> out = characters(rest);
  if (out.size() > kShownAround) out.resize(kShownAround);
  return out;
}

std::string shown_line(const Place& place) {
  const std::vector<std::string> before = shown_before(place);
  return fmt::format("{}{}\n  {}^", fmt::join(before, ""), fmt::join(shown_after(place), ""),
                     std::string(before.size(), ' '));
}

}  // namespace

int Place::line() const {
  const std::string_view before = text_of(*this).substr(0, offset_in(*this));
  return 1 + int(std::ranges::count(before, '\n'));
}

int Place::column() const {
  const size_t begin = line_begin(*this);
  return 1 + int(count_characters(text_of(*this).substr(begin, offset_in(*this) - begin)));
}

std::string Place::text() const {
  if (!source) return "script";
  return fmt::format("{}:{}:{}", printable(source->name), line(), column());
}

Error error_at(const Place& place, Code code, std::string_view message) {
  return Error(code, fmt::format("{}: {}\n  {}", place.text(), message, shown_line(place)));
}

Error error_at(const Place& place, const Error& error) {
  return error_at(place, error.code(), error.message());
}

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 60;
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::vector<std::string> all = characters(line.substr(0, 4 * kLongest));
  std::string out;
  for (size_t i = 0; i < std::min(all.size(), kLongest); ++i) out += all[i];
  return all.size() > kLongest || line.size() < text.size() ? out + "…" : out;
}

bool tells_place(const Error& error, const Place& place) {
  std::string_view message = error.message();
  if (!place.source || !message.starts_with(printable(place.source->name) + ":")) return false;
  message.remove_prefix(printable(place.source->name).size() + 1);
  const size_t line = message.find_first_not_of("0123456789");
  return line != 0 && line != message.npos && message[line] == ':' &&
         message.substr(line + 1).find_first_not_of("0123456789") > 0;
}

}  // namespace capstan::script
