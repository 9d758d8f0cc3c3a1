#include "jobs/job_record.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "jobs/json_fields.h"

namespace capstan::jobs {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr size_t kLongestText = 4096;
constexpr size_t kLongestLine = 1000;
constexpr size_t kMostArguments = 200;
constexpr size_t kMostPoints = 400;
constexpr const char* kStates[] = {"waiting", "running", "succeeded", "failed", "stopped"};

std::string cut(const std::string& text, size_t longest) {
  return text.size() <= longest ? text : text.substr(0, longest) + "…";
}

Json lines(const std::vector<std::string>& all, size_t most = SIZE_MAX) {
  Json list = Json::array();
  for (const std::string& line : all) {
    if (list.size() < most) list.push_back(cut(line, kLongestLine));
  }
  return list;
}

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const Attempt& attempt) {
  return {{"attempt", attempt.number},
          {"why", cut(attempt.why, kLongestText)},
          {"step", attempt.step},
          {"started", attempt.started},
          {"ended", attempt.ended}};
}

Json json_of(const TaskReport& task) {
  Json attempts = Json::array();
  for (const Attempt& attempt : task.attempts) attempts.push_back(json_of(attempt));
  return {{"job", task.task.job},
          {"task", task.task.index},
          {"host", task.host},
          {"port", task.port},
          {"pid", task.pid},
          {"state", kStates[size_t(task.state)]},
          {"attempt", task.attempt},
          {"exit_code", task.exit_code},
          {"signal", task.signal},
          {"seconds", task.seconds},
          {"peak_memory", task.peak_memory},
          {"memory_limit", task.memory_limit},
          {"error", cut(task.error, kLongestText)},
          {"error_code", cut(task.error_code, kLongestLine)},
          {"started", task.started},
          {"ended", task.ended},
          {"failed_at", task.failed_at},
          {"start_at", task.start_at},
          {"asked_at", task.asked_at},
          {"attempts", attempts},
          {"step", task.progress.step},
          {"loss", number(task.progress.loss)},
          {"last_step", task.progress.last_step},
          {"steps_per_second", task.steps_per_second}};
}

Json json_of(const JobState& state) {
  Json tasks = Json::array();
  for (const TaskReport& task : state.tasks) tasks.push_back(json_of(task));
  Json json = {{"started", state.started},   {"trained", state.trained},   {"ended", state.ended},
               {"restarts", state.restarts}, {"incident", state.incident}, {"tasks", tasks}};
  if (state.stop) {
    json["stop"] = {{"at", state.stop->at},
                    {"text", cut(state.stop->text, kLongestText)},
                    {"exit_code", state.stop->exit_code},
                    {"at_once", state.stop->at_once}};
  }
  return json;
}

Json json_of(const std::vector<CurvePoint>& curve) {
  Json list = Json::array();
  for (const CurvePoint& point : curve) {
    list.push_back(Json::array({point.seconds, point.step, number(point.loss)}));
  }
  return list;
}

std::optional<double> number_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

TaskState state_of(const std::string& name) {
  auto found = std::ranges::find(kStates, name);
  if (found == std::end(kStates)) throw data_loss("unknown state {}", name);
  return TaskState(found - std::begin(kStates));
}

Attempt attempt_of(const Json& json) {
  return {.number = whole_at<int>(json, "attempt", 1),
          .why = json.at("why"),
          .step = whole_at<int64_t>(json, "step"),
          .started = seconds_at(json, "started"),
          .ended = seconds_at(json, "ended")};
}

TaskReport task_of(const Json& json) {
  TaskReport task{.task = {json.at("job"), whole_at(json, "task", 0)}, .host = json.at("host")};
  task.port = whole_at<uint16_t>(json, "port");
  task.pid = whole_at(json, "pid", 0);
  task.state = state_of(json.at("state"));
  task.attempt = whole_at(json, "attempt", 1);
  task.exit_code = whole_at<int>(json, "exit_code");
  task.signal = whole_at<int>(json, "signal");
  task.seconds = seconds_at(json, "seconds");
  task.peak_memory = whole_at<int64_t>(json, "peak_memory", 0);
  // Records of before had none.
  if (json.contains("memory_limit")) task.memory_limit = whole_at<int64_t>(json, "memory_limit", 0);
  task.error = json.at("error");
  task.error_code = json.at("error_code");
  task.started = seconds_at(json, "started");
  task.ended = seconds_at(json, "ended");
  task.failed_at = seconds_at(json, "failed_at");
  task.start_at = seconds_at(json, "start_at");
  task.asked_at = seconds_at(json, "asked_at");
  for (const Json& attempt : json.at("attempts")) task.attempts.push_back(attempt_of(attempt));
  task.progress = {whole_at<int64_t>(json, "step"), number_of(json.at("loss")),
                   whole_at<int64_t>(json, "last_step")};
  if (json.contains("steps_per_second")) task.steps_per_second = json.at("steps_per_second");
  return task;
}

StopReason stop_of(const Json& json) {
  return {seconds_at(json, "at"), json.at("text"), whole_at<int>(json, "exit_code"),
          json.at("at_once")};
}

JobState job_state_of(const Json& json) {
  JobState state{.started = seconds_at(json, "started"), .trained = seconds_at(json, "trained")};
  state.ended = seconds_at(json, "ended");
  state.restarts = whole_at(json, "restarts", 0);
  state.incident = seconds_at(json, "incident");
  for (const Json& task : json.at("tasks")) state.tasks.push_back(task_of(task));
  if (auto stop = json.find("stop"); stop != json.end()) state.stop = stop_of(*stop);
  return state;
}

JobRecord record_of(const Json& json) {
  JobRecord record{.id = json.at("id"), .name = json.at("name"), .command = json.at("command")};
  record.cwd = json.at("cwd");
  record.log_dir = json.at("log_dir");
  if (json.contains("host")) record.host = json.at("host");
  if (json.contains("cluster")) record.cluster = json.at("cluster");
  record.created = whole_at<int64_t>(json, "created", 0);
  record.detached = json.at("detached");
  record.controller = whole_at(json, "controller", 0);
  record.holder = whole_at(json, "holder", 0);
  record.state = job_state_of(json.at("state"));
  record.exit_code = whole_at<int>(json, "exit_code");
  record.reason = json.at("reason");
  record.cause = json.at("cause");
  record.last_lines = json.at("last_lines");
  record.steps_per_second = json.at("steps_per_second");
  for (const Json& point : json.at("curve")) {
    record.curve.push_back({point.at(0), whole_of<int64_t>(point.at(1)), number_of(point.at(2))});
  }
  return record;
}

}  // namespace

const TaskReport* JobRecord::task(const TaskId& id) const {
  auto found = std::ranges::find(state.tasks, id, &TaskReport::task);
  return found == state.tasks.end() ? nullptr : &*found;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

Progress progress_of(const JobRecord& record) {
  Progress furthest;
  for (const TaskReport& task : record.state.tasks) {
    const int64_t last = std::max(furthest.last_step, task.progress.last_step);
    if (task.progress.step > furthest.step) furthest = task.progress;
    furthest.last_step = last;
  }
  return furthest;
}

std::string to_json(const JobRecord& record) {
  Json json = {{"version", kVersion},
               {"id", record.id},
               {"name", cut(record.name, kLongestLine)},
               {"command", lines(record.command, kMostArguments)},
               {"host", cut(record.host, kLongestLine)},
               {"cwd", record.cwd},
               {"log_dir", record.log_dir},
               {"created", record.created},
               {"detached", record.detached},
               {"controller", record.controller},
               {"holder", record.holder},
               {"state", json_of(record.state)},
               {"exit_code", record.exit_code},
               {"reason", cut(record.reason, kLongestText)},
               {"cause", record.cause},
               {"last_lines", lines(record.last_lines)},
               {"steps_per_second", record.steps_per_second},
               {"curve", json_of(record.curve)}};
  if (!record.cluster.empty()) json["cluster"] = cut(record.cluster, kLongestLine);
  // What tasks print may be anything, and cutting may have halved a character.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

JobRecord record_from_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("version")) {
    throw data_loss("it is damaged (not the JSON of a record)");
  }
  if (json["version"] != kVersion) {
    throw failed_precondition("it is of version {}, and this Capstan reads version {}",
                              short_text(json["version"]), kVersion);
  }
  try {
    return record_of(json);
  } catch (const Json::exception& error) {
    throw data_loss("it is damaged ({})", error.what());
  } catch (const Error& error) {
    throw data_loss("it is damaged ({})", error.message());
  }
}

void add_point(std::vector<CurvePoint>& curve, CurvePoint point) {
  if (!curve.empty()) {
    const double spacing = point.seconds / double(kMostPoints);
    if (point.step <= curve.back().step || point.seconds - curve.back().seconds < spacing) return;
  }
  curve.push_back(point);
  if (curve.size() <= kMostPoints) return;
  size_t kept = 0;  // every second one, and the last
  for (size_t i = 0; i < curve.size(); i += 2) curve[kept++] = curve[i];
  curve.resize(kept);
}

}  // namespace capstan::jobs
