#include "jobs/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace capstan::jobs {
namespace {

using Row = std::array<std::string, 8>;

Row row_of(const TaskReport& task) {
  return {task.port ? task.host : "-",
          task.port ? std::to_string(task.port) : "-",
          task.task.job,
          std::to_string(task.task.index),
          task.done() ? "yes" : "no",
          task.success() ? "yes" : "no",
          fmt::format("{:.1f}", task.seconds),
          human_bytes(task.peak_memory)};
}

}  // namespace

std::string human_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string report_table(const std::vector<TaskReport>& tasks) {
  std::vector<Row> rows = {
      {"host", "port", "job", "task", "done", "success", "seconds", "peak memory"}};
  for (const TaskReport& task : tasks) rows.push_back(row_of(task));
  std::array<size_t, 8> width{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) out += fmt::format("{:<{}}  ", row[i], width[i]);
    out += row.back() + "\n";
  }
  return out;
}

}  // namespace capstan::jobs
