#include "jobs/json_lines.h"

#include <chrono>

#include "jobs/json_text.h"

namespace capstan::jobs {
namespace {

void add_result(JsonObject& json, const TaskReport& task) {
  bool in_cluster = task.port != 0;
  json.add_json("host", in_cluster ? json_quote(task.host) : "null")
      .add_json("port", in_cluster ? std::to_string(task.port) : "null")
      .add("done", task.done())
      .add("success", task.success())
      .add("exit_code", task.exit_code)
      .add_json("signal", task.signal ? json_quote(signal_name(task.signal)) : "null")
      .add("seconds", task.seconds)
      .add("peak_memory", task.peak_memory);
  if (!task.attempts.empty()) json.add("attempt", task.attempt);
  if (!task.error.empty()) json.add("error", task.error);
}

std::string row_of(const TaskReport& task) {
  JsonObject json;
  json.add("job", task.task.job).add("task", task.task.index);
  add_result(json, task);
  return json.text();
}

}  // namespace

// Every line tells when it was written.
void JsonLines::put(JsonObject& json) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  sink_(json.add_json("time", fmt::format("{}.{:03}", ms / 1000, ms % 1000)).text());
}

void JsonLines::started(const TaskReport& task) {
  JsonObject json;
  json.add("event", "start").add("task", task.task.name()).add("host", task.host);
  put(json.add("port", task.port).add("pid", task.pid));
}

void JsonLines::log(const TaskId& task, std::string_view line) {
  JsonObject json;
  put(json.add("event", "log").add("task", task.name()).add("line", line));
}

void JsonLines::progress(const TaskId& task, const Progress& progress) {
  if (busy_ && busy_()) return;
  JsonObject json;
  json.add("event", "step").add("task", task.name()).add("step", progress.step);
  if (progress.loss) json.add("loss", *progress.loss);
  if (progress.last_step > 0) json.add("last_step", progress.last_step);
  put(json);
}

void JsonLines::ended(const TaskReport& task) {
  JsonObject json;
  json.add("event", "end").add("task", task.task.name());
  add_result(json, task);
  put(json);
}

void JsonLines::restarts(const TaskReport& task, double delay) {
  JsonObject json;
  json.add("event", "restart").add("task", task.task.name()).add("attempt", task.attempt);
  put(json.add("why", task.attempts.back().why).add("delay", delay));
}

void JsonLines::note(std::string_view text) {
  JsonObject json;
  put(json.add("event", "note").add("text", text));
}

void JsonLines::finish(const JobReport& report) {
  JsonObject json;
  json.add("event", "result").add("exit_code", report.exit_code);
  json.add("success", report.exit_code == 0).add("reason", report.reason);
  if (report.cause) {
    json.add("cause", report.tasks[*report.cause].task.name());
    json.add_json("last_lines", json_strings(report.last_lines));
  }
  if (!report.log_dir.empty()) json.add("log_dir", report.log_dir);
  json.add_json("tasks", json_list(report.tasks, row_of));
  put(json);
}

}  // namespace capstan::jobs
