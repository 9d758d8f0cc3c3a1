#include "jobs/script/variables.h"

#include <algorithm>

#include "base/error.h"

namespace capstan::script {
namespace {

constexpr size_t kLongestText = 16 << 20;
constexpr size_t kLongestName = 200;
constexpr size_t kDeepest = 20;  // variables that hold templates that hold templates …
constexpr size_t kMostTemplates = 1'000'000;  // in one text

// Calendar days, whatever the clocks did in between: noon is never skipped.
std::string day(std::time_t now, int from_today) {
  std::tm local{};
  localtime_r(&now, &local);
  local.tm_hour = 12;
  local.tm_mday += from_today;
  local.tm_isdst = -1;
  return format_date(std::mktime(&local), "yyyy-MM-dd").value_or("");
}

std::optional<std::string> built_in(std::string_view name,
                                    const std::optional<Surroundings>& around) {
  if (!around) return std::nullopt;
  const Surroundings& from = *around;
  if (name == "date" || name == "today") return day(from.now, 0);
  if (name == "yesterday") return day(from.now, -1);
  if (name == "tomorrow") return day(from.now, 1);
  if (name == "theDayBeforeYesterday") return day(from.now, -2);
  if (name == "HOME") return from.home;
  if (name == "OWNER") return from.owner;
  constexpr std::string_view kCall = "date.toString(";
  if (!name.starts_with(kCall) || !name.ends_with(")") || name.size() < kCall.size() + 3)
    return std::nullopt;
  const std::string_view quoted = name.substr(kCall.size(), name.size() - kCall.size() - 1);
  const bool in_quotes = (quoted.front() == '"' || quoted.front() == '\'') && quoted.size() >= 2 &&
                         quoted.back() == quoted.front();
  if (!in_quotes) return std::nullopt;
  return format_date(from.now, quoted.substr(1, quoted.size() - 2));
}

// The name at the front of "name}…", or nothing.
std::optional<std::string_view> name_of(std::string_view text) {
  const size_t end = text.substr(0, kLongestName).find_first_of("}{\n");
  if (end == text.npos || end == 0 || text[end] != '}') return std::nullopt;
  return text.substr(0, end);
}

int field(const std::tm& time, char letter) {
  switch (letter) {
    case 'y': return time.tm_year + 1900;
    case 'M': return time.tm_mon + 1;
    case 'd': return time.tm_mday;
    case 'H': return time.tm_hour;
    case 'h': return time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
    case 'm': return time.tm_min;
    case 's': return time.tm_sec;
    default: return -1;
  }
}

}  // namespace

std::optional<std::string> format_date(std::time_t time, std::string_view pattern) {
  std::tm local{};
  localtime_r(&time, &local);
  std::string out;
  for (size_t i = 0; i < pattern.size();) {
    const char letter = pattern[i];
    const size_t end = std::min(pattern.find_first_not_of(letter, i), pattern.size());
    const int value = field(local, letter);
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    if (value >= 0 && end - i > 20) return std::nullopt;
    if (value >= 0) {
      const bool short_year = letter == 'y' && end - i == 2;
      out += fmt::format("{:0{}}", short_year ? value % 100 : value, end - i);
      i = end;
    } else if (letter == '\'') {
      const size_t close = pattern.find('\'', i + 1);
      if (close == pattern.npos) return std::nullopt;
      out += close == i + 1 ? "'" : std::string(pattern.substr(i + 1, close - i - 1));
      i = close + 1;
    } else {
      if (is_letter) return std::nullopt;
      out += pattern[i++];
    }
  }
  return out;
}

size_t Rendered::origin(size_t offset) const {
  auto after = std::ranges::upper_bound(pieces, offset, {}, &Piece::begin);
  if (after == pieces.begin()) return offset;
  const Piece& piece = *std::prev(after);
  return piece.value ? piece.origin : piece.origin + (offset - piece.begin);
}

struct Templates::Work {
  Rendered out;
  bool select = false;
  size_t templates = 0;
  std::vector<std::string_view> open;  // names whose values are being expanded

  void append(std::string_view text) {
    if (out.text.size() + text.size() > kLongestText || templates > kMostTemplates) {
      throw resource_exhausted(
          "its templates make this text longer than {} MB, or hold more than {}",
          kLongestText >> 20, kMostTemplates);
    }
    out.text += text;
  }
};

const Variable* Templates::find(std::string_view name) const {
  for (const Variables* variables : {&script_, &session_}) {
    auto found = variables->find(name);
    if (found != variables->end()) return &found->second;
  }
  return nullptr;
}

std::optional<std::string> Templates::value(std::string_view name) const {
  if (const Variable* variable = find(name)) return render(variable->text).text;
  return built_in(name, surroundings_);
}

// Appends the value of the template, if it has one.
bool Templates::expand_name(Work& work, std::string_view name) const {
  ++work.templates;
  const Variable* variable = find(name);
  if (!variable) {
    const std::optional<std::string> text = built_in(name, surroundings_);
    if (text) work.append(*text);
    return text.has_value();
  }
  const bool hidden = work.select && !variable->in_select;
  const bool again = std::ranges::find(work.open, name) != work.open.end();
  if (hidden || again || work.open.size() >= kDeepest) return false;
  work.open.push_back(name);
  expand(work, variable->text);
  work.open.pop_back();
  return true;
}

void Templates::expand(Work& work, std::string_view text) const {
  const bool outermost = work.open.empty();
  auto mark = [&](size_t origin, bool value) {
    if (outermost) work.out.pieces.push_back({work.out.text.size(), origin, value});
  };
  size_t done = 0;
  mark(0, false);
  for (size_t at = text.find("${"); at != text.npos; at = text.find("${", at + 2)) {
    const auto name = name_of(text.substr(at + 2));
    if (!name) continue;
    work.append(text.substr(done, at - done));
    done = at;
    mark(at, true);
    if (expand_name(work, *name)) done = at + name->size() + 3;
    mark(done, false);
  }
  work.append(text.substr(done));
}

Rendered Templates::render(std::string_view text, bool select) const {
  Work work;
  work.select = select;
  expand(work, text);
  return std::move(work.out);
}

}  // namespace capstan::script
