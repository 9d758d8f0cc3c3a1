#include "jobs/json_lines.h"

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

void JsonLines::started(const TaskReport& task) {
  JsonObject json;
  json.add("event", "start").add("task", task.task.name()).add("host", task.host);
  sink_(json.add("port", task.port).add("pid", task.pid).text());
}

void JsonLines::log(const TaskId& task, std::string_view line) {
  sink_(JsonObject().add("event", "log").add("task", task.name()).add("line", line).text());
}

void JsonLines::progress(const TaskId& task, const Progress& progress) {
  JsonObject json;
  json.add("event", "step").add("task", task.name()).add("step", progress.step);
  if (progress.loss) json.add("loss", *progress.loss);
  if (progress.last_step > 0) json.add("last_step", progress.last_step);
  sink_(json.text());
}

void JsonLines::ended(const TaskReport& task) {
  JsonObject json;
  json.add("event", "end").add("task", task.task.name());
  add_result(json, task);
  sink_(json.text());
}

void JsonLines::restarts(const TaskReport& task, double delay) {
  JsonObject json;
  json.add("event", "restart").add("task", task.task.name()).add("attempt", task.attempt);
  sink_(json.add("why", task.attempts.back().why).add("delay", delay).text());
}

void JsonLines::note(std::string_view text) {
  sink_(JsonObject().add("event", "note").add("text", text).text());
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
  sink_(json.text());
}

}  // namespace capstan::jobs
