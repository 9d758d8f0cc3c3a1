#include "jobs/k8s/kube_time.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace capstan::jobs::k8s {
namespace {

using std::chrono::sys_days;

struct Split {
  std::chrono::year_month_day day;
  int hour, minute, second;
};

Split split(int64_t seconds) {
  const auto time = std::chrono::sys_seconds(std::chrono::seconds(seconds));
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const int64_t rest = (time - midnight).count();
  return {midnight, int(rest / 3600), int(rest / 60 % 60), int(rest % 60)};
}

std::string seconds_text(int64_t seconds) {
  const Split t = split(seconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int(t.day.year()),
                     unsigned(t.day.month()), unsigned(t.day.day()), t.hour, t.minute, t.second);
}

// Exactly `count` digits at `at`.
std::optional<int> number(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return {};
  int value = 0;
  for (char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return {};
    value = value * 10 + (c - '0');
  }
  return value;
}

bool has_marks(std::string_view text) {
  return text.size() > 19 && text[4] == '-' && text[7] == '-' &&
         (text[10] == 'T' || text[10] == 't') && text[13] == ':' && text[16] == ':';
}

std::optional<double> whole_seconds(std::string_view text) {
  if (!has_marks(text)) return {};
  const auto year_of = number(text, 0, 4), month_of = number(text, 5, 2);
  const auto day_of = number(text, 8, 2);
  const auto hour = number(text, 11, 2), minute = number(text, 14, 2), second = number(text, 17, 2);
  if (!year_of || !month_of || !day_of || !hour || !minute || !second) return {};
  using namespace std::chrono;
  const year_month_day date = year(*year_of) / month(unsigned(*month_of)) / day(unsigned(*day_of));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return {};
  return double(sys_days(date).time_since_epoch().count()) * 86400 + *hour * 3600 + *minute * 60 +
         *second;
}

// ".123", removed from the front.
double fraction(std::string_view& text) {
  double value = 0, unit = 1;
  if (text.empty() || text[0] != '.') return 0;
  text.remove_prefix(1);
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    value += (text[0] - '0') * (unit /= 10);
    text.remove_prefix(1);
  }
  return value;
}

// "Z", "+01:00".
std::optional<double> offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return {};
  const auto hours = number(text, 1, 2), minutes = number(text, 4, 2);
  if (!hours || !minutes) return {};
  return (text[0] == '-' ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

}  // namespace

double wall_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string kube_time(double seconds) { return seconds_text(int64_t(std::floor(seconds))) + "Z"; }

std::string kube_micro_time(double seconds) {
  const int64_t micros = std::llround(seconds * 1e6);
  const int64_t whole = micros >= 0 ? micros / 1'000'000 : (micros - 999'999) / 1'000'000;
  return fmt::format("{}.{:06}Z", seconds_text(whole), micros - whole * 1'000'000);
}

std::optional<double> parse_kube_time(std::string_view text) {
  const auto seconds = whole_seconds(text);
  if (!seconds) return {};
  std::string_view rest = text.substr(19);
  const double part = fraction(rest);
  const auto east = offset(rest);
  if (!east) return {};
  return *seconds + part - *east;
}

}  // namespace capstan::jobs::k8s
