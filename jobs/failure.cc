#include "jobs/failure.h"

#include <algorithm>

#include "base/printable.h"
#include "jobs/memory_size.h"

namespace capstan::jobs {
namespace {

constexpr double kConsequence = 1.0;
constexpr double kFirstDelay = 1.0, kLongestDelay = 60.0;
constexpr double kLongLife = 600.0;
constexpr size_t kLongestWhy = 200;

bool tells_of_another(const std::string& code) {
  return code == "Unavailable" || code == "Aborted" || code == "Cancelled";
}

// Cut before a character, not inside of one.
std::string first_line(const std::string& text) {
  std::string line = printable(text.substr(0, text.find('\n')));
  if (line.size() <= kLongestWhy) return line;
  size_t end = kLongestWhy;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return line.substr(0, end) + "…";
}

}  // namespace

double failure_time(const TaskStatus& status) {
  const auto& error = status.told.error;
  if (!error) return status.ended_at;
  return error->time.value_or(status.ended_at) + (tells_of_another(error->code) ? kConsequence : 0);
}

bool is_passing(const TaskStatus& status) {
  if (status.start_error) {
    const Code code = status.start_error->code();
    return code == Code::kUnavailable || code == Code::kResourceExhausted;
  }
  const auto& error = status.told.error;
  if (error && error->code == kOverMemory) return false;
  return status.signal != 0 || (error && tells_of_another(error->code));
}

TaskError over_memory(const TaskSpec& spec, int64_t had, double time) {
  const int64_t limit = spec.memory_limit.value_or(0);
  const std::string much = had > limit ? fmt::format(" (had {})", binary_bytes(had)) : "";
  return {time, std::string(kOverMemory),
          fmt::format("over its memory limit of {}{}; raise it with --memory {}=…",
                      binary_bytes(limit), much, spec.task.job)};
}

std::string why_text(const TaskReport& task) {
  // Without what it had, which differs from time to time.
  if (task.error.empty() || task.over_memory()) return end_text(task);
  return end_text(task) + ": " + first_line(task.error);
}

double back_off(const TaskReport& task) {
  double delay = kFirstDelay / 2;
  for (size_t i = task.attempts.size(); i-- > 0; delay *= 2) {
    if (task.attempts[i].ended - task.attempts[i].started > kLongLife) break;
  }
  return std::clamp(delay, kFirstDelay, kLongestDelay);
}

}  // namespace capstan::jobs
