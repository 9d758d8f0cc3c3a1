#include "jobs/local/link_packets.h"

#include <nlohmann/json.hpp>

#include "jobs/json_fields.h"

namespace capstan::jobs {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestError = 4096;
constexpr size_t kLongestLine = 200;

std::string cut(const std::string& text, size_t longest) { return text.substr(0, longest); }

Json error_json(const std::optional<TaskError>& error) {
  if (!error) return nullptr;
  return {{"time", error->time.value_or(0)},
          {"code", cut(error->code, kLongestLine)},
          {"message", cut(error->message, kLongestError)}};
}

Json start_error_json(const std::optional<Error>& error) {
  if (!error) return nullptr;
  return {{"code", int(error->code())}, {"message", cut(error->message(), kLongestError)}};
}

Json told_json(const TaskTold& told) {
  return {{"serves", told.serves},
          {"trained", told.trained},
          {"waits_for", cut(told.waits_for, kLongestLine)},
          {"error", error_json(told.error)},
          {"step", told.progress.step},
          {"loss", told.progress.loss ? Json(*told.progress.loss) : Json(nullptr)},
          {"last_step", told.progress.last_step}};
}

TaskTold told_of(const Json& json) {
  TaskTold told{.serves = json.at("serves"), .trained = json.at("trained")};
  told.waits_for = json.at("waits_for");
  if (const Json& error = json.at("error"); !error.is_null()) {
    told.error = TaskError{seconds_at(error, "time"), error.at("code"), error.at("message")};
  }
  told.progress.step = whole_at<int64_t>(json, "step");
  if (!json.at("loss").is_null()) told.progress.loss = json.at("loss").get<double>();
  told.progress.last_step = whole_at<int64_t>(json, "last_step");
  return told;
}

StatusPacket packet_of(const Json& json) {
  StatusPacket packet;
  TaskStatus& status = packet.status;
  status.task = {json.at("job"), whole_at(json, "index", 0)};
  status.attempt = whole_at<int>(json, "attempt", 0);
  status.ended = json.at("ended");
  status.host = json.at("host");
  status.port = whole_at<uint16_t>(json, "port");
  status.pid = whole_at(json, "pid", 0);
  status.started_at = seconds_at(json, "started_at");
  status.ended_at = seconds_at(json, "ended_at");
  status.asked_to_stop = json.at("asked_to_stop");
  status.exit_code = whole_at<int>(json, "exit_code");
  status.signal = whole_at<int>(json, "signal");
  status.peak_memory = whole_at<int64_t>(json, "peak_memory");
  if (const Json& error = json.at("start_error"); !error.is_null()) {
    status.start_error = Error(Code(whole_at<uint8_t>(error, "code")), error.at("message"));
  }
  status.told = told_of(json.at("told"));
  packet.last_lines = json.at("last_lines");
  return packet;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const StatusPacket& packet) {
  const TaskStatus& status = packet.status;
  Json lines = Json::array();
  for (const std::string& line : packet.last_lines) lines.push_back(cut(line, kLongestLine));
  return text_of({{"job", status.task.job},
                  {"index", status.task.index},
                  {"attempt", status.attempt},
                  {"ended", status.ended},
                  {"host", status.host},
                  {"port", status.port},
                  {"pid", status.pid},
                  {"started_at", status.started_at},
                  {"ended_at", status.ended_at},
                  {"asked_to_stop", status.asked_to_stop},
                  {"exit_code", status.exit_code},
                  {"signal", status.signal},
                  {"peak_memory", status.peak_memory},
                  {"start_error", start_error_json(status.start_error)},
                  {"told", told_json(status.told)},
                  {"last_lines", lines}});
}

std::optional<StatusPacket> status_from_json(std::string_view text) {
  try {
    return packet_of(Json::parse(text));
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string to_json(const Request& request) {
  return text_of({{"what", int(request.what)},
                  {"job", request.task.job},
                  {"index", request.task.index},
                  {"attempt", request.attempt}});
}

std::optional<Request> request_from_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    const int what = whole_at<int>(json, "what");
    if (what < 0 || what > int(Request::What::kCleanUp)) return std::nullopt;
    return Request{Request::What(what),
                   {json.at("job"), whole_at(json, "index", 0)},
                   whole_at(json, "attempt", 0)};
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace capstan::jobs
