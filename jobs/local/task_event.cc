#include "jobs/local/task_event.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "jobs/json_fields.h"

namespace capstan::jobs {
namespace {

using Json = nlohmann::json;

const Json* field(const Json& event, const char* name) {
  auto it = event.find(name);
  return it == event.end() ? nullptr : &*it;
}

std::optional<int64_t> whole_number(const Json& event, const char* name) {
  const Json* value = field(event, name);
  if (!value || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && !std::in_range<int64_t>(value->get<uint64_t>()))
    return std::nullopt;
  return value->get<int64_t>();
}

std::optional<double> number(const Json& event, const char* name) {
  const Json* value = field(event, name);
  return value && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::string text(const Json& event, const char* name) {
  const Json* value = field(event, name);
  return value && value->is_string() ? value->get<std::string>() : "";
}

bool flag(const Json& event, const char* name) {
  const Json* value = field(event, name);
  return value && value->is_boolean() && value->get<bool>();
}

TaskEvent step_event(const Json& json) {
  return {.step = whole_number(json, "step"),
          .loss = number(json, "loss"),
          .last_step = whole_number(json, "last_step")};
}

TaskEvent port_event(const Json& json) {
  std::optional<int64_t> port = whole_number(json, "port");
  if (!port || *port <= 0 || *port > std::numeric_limits<uint16_t>::max()) return {};
  return {.port = uint16_t(*port)};
}

}  // namespace

TaskEvent task_event(std::string_view line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return {};
  std::string kind = text(json, "event");
  if (kind == "step") return step_event(json);
  if (kind == "port") return port_event(json);
  if (kind == "serves") return {.serves = true, .trained = flag(json, "trained")};
  if (kind == "waits") return {.waits_for = text(json, "for")};
  if (kind != "error") return {};
  std::optional<double> time = number(json, "time");
  if (time && !is_time(*time)) time.reset();
  return {.error = TaskError{time, text(json, "code"), text(json, "message")}};
}

}  // namespace capstan::jobs
