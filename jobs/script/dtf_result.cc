#include "jobs/script/dtf_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace capstan::script {
namespace {

constexpr size_t kLongest = 4096;

bool is_server(const jobs::TaskReport& task) {
  return jobs::role_of(task.task.job) == jobs::Role::kServer;
}

// Not one that was stopped because of another, nor one that never ran.
bool came_to_its_end(const jobs::TaskReport& task) {
  return task.success() || task.state == jobs::TaskState::kFailed;
}

std::vector<Cell> row_of(const jobs::TaskReport& task) {
  return {task.host.empty() ? Cell() : Cell(task.host),
          task.port ? Cell(int64_t(task.port)) : Cell(),
          task.task.job,
          int64_t(task.task.index),
          is_server(task),
          came_to_its_end(task),
          task.success()};
}

// The error that the task told, else the last line that it printed: of a traceback the exception.
std::string words_of(const jobs::TaskReport& task, const std::vector<std::string>& last_lines) {
  if (!task.error.empty()) {
    return task.error_code.empty() ? task.error : task.error_code + ": " + task.error;
  }
  for (size_t i = last_lines.size(); i-- > 0;) {
    if (last_lines[i].find_first_not_of(" \t\r") != std::string::npos) return last_lines[i];
  }
  return "";
}

// Tasks fail, too, while a job is being stopped for another reason.
bool is_of_a_task(const jobs::JobReport& report) {
  return report.cause &&
         report.reason.starts_with(report.tasks[*report.cause].task.name() + " failed first");
}

Code code_of(const jobs::JobReport& report) {
  if (report.exit_code == jobs::kExitTimeout) return Code::kDeadlineExceeded;
  return report.exit_code > jobs::kExitSignalBase ? Code::kCancelled : Code::kFailedPrecondition;
}

}  // namespace

Rows result_rows(const std::vector<jobs::TaskReport>& tasks) {
  Rows all;
  all.columns = {{"host", "VARCHAR"},      {"port", "INTEGER"}, {"jobName", "VARCHAR"},
                 {"taskIndex", "INTEGER"}, {"isPs", "BOOLEAN"}, {"done", "BOOLEAN"},
                 {"success", "BOOLEAN"}};
  for (bool servers : {false, true}) {
    for (const jobs::TaskReport& task : tasks) {
      if (is_server(task) == servers) all.rows.push_back(row_of(task));
    }
  }
  all.total = int64_t(all.rows.size());
  return all;
}

Rows result_rows(const DtfPlan& plan) {
  std::vector<jobs::TaskReport> tasks;
  auto add = [&](const char* job, int count) {
    for (int i = 0; i < count; ++i) {
      tasks.emplace_back();
      tasks.back().task = {job, i};
    }
  };
  add("worker", plan.workers);
  add("ps", plan.servers);
  return result_rows(tasks);
}

Error failure_of(const jobs::JobReport& report) {
  if (!is_of_a_task(report)) {
    return Error(code_of(report), "the training did not come to its end: " + report.reason);
  }
  const jobs::TaskReport& task = report.tasks[*report.cause];
  std::string words = printable(words_of(task, report.last_lines));
  if (words.size() > kLongest) words = words.substr(0, kLongest) + "…";
  std::string text = fmt::format("{} failed ({})", task.task.name(), jobs::end_text(task));
  if (!words.empty()) text += ": " + words;
  if (!report.log_dir.empty()) text += fmt::format("; logs: {}", report.log_dir);
  return Error(Code::kAborted, text);
}

}  // namespace capstan::script
