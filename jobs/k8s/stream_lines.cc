#include "jobs/k8s/stream_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace capstan::jobs::k8s {
namespace {

// JSON trees are copied and written by functions that call themselves.
constexpr int kMostDepth = 500;

bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMostDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::string beginning(std::string_view text) { return printable(text.substr(0, 80)); }

}  // namespace

nlohmann::json parse_answer(std::string_view text) {
  if (too_deep(text)) throw data_loss("an answer of the server nests too deeply");
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    throw data_loss("an answer of the server is no JSON, it begins with: {}", beginning(text));
  }
  return json;
}

void read_watch_line(std::string_view line,
                     FunctionRef<void(std::string_view type, nlohmann::json&& object)> told) {
  nlohmann::json event = parse_answer(line);
  const bool whole = event.is_object() && event.contains("type") && event["type"].is_string() &&
                     event.contains("object") && event["object"].is_object();
  if (!whole) throw data_loss("this is no event of a watch: {}", beginning(line));
  const std::string type = event["type"].get<std::string>();
  told(type, std::move(event["object"]));
}

bool LineCutter::feed(std::string_view bytes, FunctionRef<bool(std::string_view line)> told) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (rest_.size() + piece.size() > most_) {
      rest_ += piece.substr(0, most_ - rest_.size());
      return false;
    }
    if (end == bytes.npos) {
      rest_ += piece;
      return true;
    }
    bytes.remove_prefix(end + 1);
    // Most lines come whole and are not copied.
    const std::string joined = rest_.empty() ? std::string() : take_rest() + std::string(piece);
    if (!told(joined.empty() ? piece : std::string_view(joined))) return true;
  }
  return true;
}

std::string LineCutter::take_rest() { return std::exchange(rest_, {}); }

}  // namespace capstan::jobs::k8s
