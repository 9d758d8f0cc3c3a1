#include "jobs/json_lines.h"

#include <nlohmann/json.hpp>

namespace capstan::jobs {
namespace {

using Json = nlohmann::ordered_json;

// What a task prints may be any bytes; JSON may not.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const TaskReport& task) {
  Json json = {
      {"job", task.task.job},        {"task", task.task.index}, {"host", task.host},
      {"port", task.port},           {"done", task.done()},     {"success", task.success()},
      {"exit_code", task.exit_code}, {"seconds", task.seconds}, {"peak_memory", task.peak_memory}};
  if (task.port == 0) json["host"] = json["port"] = nullptr;
  if (!task.error.empty()) json["error"] = task.error;
  return json;
}

}  // namespace

void JsonLines::started(const TaskReport& task) {
  Json json = {{"event", "start"},
               {"task", task.task.name()},
               {"host", task.host},
               {"port", task.port},
               {"pid", task.pid}};
  sink_(text_of(json));
}

void JsonLines::log(const TaskId& task, std::string_view line) {
  sink_(text_of(Json{{"event", "log"}, {"task", task.name()}, {"line", line}}));
}

void JsonLines::progress(const TaskId& task, const Progress& progress) {
  Json json = {{"event", "step"}, {"task", task.name()}, {"step", progress.step}};
  if (progress.loss) json["loss"] = *progress.loss;
  if (progress.last_step > 0) json["last_step"] = progress.last_step;
  sink_(text_of(json));
}

void JsonLines::ended(const TaskReport& task) {
  Json json = {{"event", "end"}};
  json.update(json_of(task));
  json["task"] = task.task.name();
  sink_(text_of(json));
}

void JsonLines::note(std::string_view text) {
  sink_(text_of(Json{{"event", "note"}, {"text", text}}));
}

void JsonLines::finish(const JobReport& report) {
  Json json = {{"event", "result"},
               {"exit_code", report.exit_code},
               {"success", report.exit_code == 0},
               {"reason", report.reason}};
  if (report.cause) {
    json["cause"] = report.tasks[*report.cause].task.name();
    json["last_lines"] = report.last_lines;
  }
  if (!report.log_dir.empty()) json["log_dir"] = report.log_dir;
  json["tasks"] = Json::array();
  for (const TaskReport& task : report.tasks) json["tasks"].push_back(json_of(task));
  sink_(text_of(json));
}

}  // namespace capstan::jobs
