#include "jobs/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "jobs/text_table.h"

namespace capstan::jobs {
namespace {

// The cause and what followed from it look different, in a pipe too.
std::string end_of(const JobReport& report, size_t i) {
  const TaskReport& task = report.tasks[i];
  if (task.state == TaskState::kStopped) return "stopped";
  if (task.state != TaskState::kFailed) return task.done() ? "ok" : "-";
  if (report.cause == i) return "cause: " + end_text(task);
  return (report.cause ? "consequence: " : "") + end_text(task);
}

std::string reasons(const TaskReport& task) {
  std::string text;
  for (const Attempt& attempt : task.attempts) text += (text.empty() ? "" : "; ") + attempt.why;
  return text.empty() ? "-" : text;
}

bool any_restarted(const JobReport& report) {
  return std::ranges::any_of(report.tasks, [](const auto& task) { return !task.attempts.empty(); });
}

Row header(const JobReport& report) {
  Row row = {"host", "port", "job", "task", "done", "success", "seconds", "peak memory", "end"};
  if (any_restarted(report)) row.insert(row.end(), {"attempts", "started again after"});
  return row;
}

Row row_of(const JobReport& report, size_t i) {
  const TaskReport& task = report.tasks[i];
  Row row = {task.port ? task.host : "-",
             task.port ? std::to_string(task.port) : "-",
             task.task.job,
             std::to_string(task.task.index),
             task.done() ? "yes" : "no",
             task.success() ? "yes" : "no",
             fmt::format("{:.1f}", task.seconds),
             human_bytes(task.peak_memory),
             end_of(report, i)};
  if (any_restarted(report)) row.insert(row.end(), {std::to_string(task.attempt), reasons(task)});
  return row;
}

// Red for the cause, dim for what it brought about.
const char* colour_of(const JobReport& report, size_t i) {
  if (report.cause == i) return "\x1b[1;31m";
  bool brought_about = report.cause && !report.tasks[i].success();
  return brought_about ? "\x1b[2m" : "";
}

}  // namespace

std::string human_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string report_table(const JobReport& report, bool colour) {
  std::vector<Row> rows = {header(report)};
  for (size_t i = 0; i < report.tasks.size(); ++i) rows.push_back(row_of(report, i));
  const std::vector<std::string> lines = text_table(rows);
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string on = colour && i > 0 ? colour_of(report, i - 1) : "";
    out += on + lines[i] + (on.empty() ? "" : "\x1b[0m") + "\n";
  }
  return out;
}

}  // namespace capstan::jobs
