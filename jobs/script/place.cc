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

std::string_view line_at(const Place& place) {
  std::string_view line = text_of(place).substr(line_begin(place));
  // A line without end is not read to its end for an error.
  const size_t most = offset_in(place) - line_begin(place) + 4 * kShownAround;
  line = line.substr(0, std::min(line.find('\n'), most));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string shown_line(const Place& place) {
  const std::vector<std::string> line = characters(line_at(place));
  const size_t at = size_t(place.column() - 1);
  const size_t begin = at > kShownAround ? at - kShownAround : 0;
  const size_t end = std::min(line.size(), at + kShownAround);
  std::string text;
  for (size_t i = begin; i < end; ++i) text += line[i];
  return fmt::format("{}\n  {}^", text, std::string(at - begin, ' '));
}

}  // namespace

int Place::line() const {
  const std::string_view before = text_of(*this).substr(0, offset_in(*this));
  return 1 + int(std::ranges::count(before, '\n'));
}

int Place::column() const {
  const size_t begin = line_begin(*this);
  return 1 + int(characters(text_of(*this).substr(begin, offset_in(*this) - begin)).size());
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

bool tells_place(const Error& error, const Place& place) {
  std::string_view message = error.message();
  if (!place.source || !message.starts_with(printable(place.source->name) + ":")) return false;
  message.remove_prefix(printable(place.source->name).size() + 1);
  const size_t line = message.find_first_not_of("0123456789");
  return line != 0 && line != message.npos && message[line] == ':' &&
         message.substr(line + 1).find_first_not_of("0123456789") > 0;
}

}  // namespace capstan::script
