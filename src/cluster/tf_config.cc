#include "cluster/tf_config.h"

#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kExample =
    R"({"cluster": {"ps": ["host:port"], "worker": ["host:port"]}, "task": {"type": "worker", "index": 0}})";

Json parsed(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    throw invalid_argument("TF_CONFIG is no JSON: byte {} of {} cannot be read; expected {}",
                           e.byte, text.substr(0, 200), kExample);
  }
}

// 1, and "1" as some launchers write it.
std::optional<int> index_of(const Json& index) {
  if (index.is_number_unsigned() && index.get<uint64_t>() <= INT32_MAX) return index.get<int>();
  if (!index.is_string()) return std::nullopt;
  const auto& text = index.get_ref<const std::string&>();
  int number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return whole ? std::optional(number) : std::nullopt;
}

void take_task(const Json& task, TaskRole& role) {
  Json type = task.is_object() ? task.value("type", Json()) : Json();
  std::optional<int> index =
      task.is_object() ? index_of(task.value("index", Json(0U))) : std::nullopt;
  if (!type.is_string() || !index) {
    throw invalid_argument(
        "TF_CONFIG: the task {} is not of the form {{\"type\": \"worker\", \"index\": 0}}",
        task.dump());
  }
  role.job = type;
  role.task = *index;
}

}  // namespace

bool TaskRole::is_chief() const {
  for (const char* chief : {"chief", "master"}) {
    if (job == chief || cluster.tasks(chief) > 0) return job == chief;
  }
  return job == "worker" && task == 0;
}

TaskRole parse_tf_config(std::string_view text) {
  TaskRole role;
  if (text.empty()) return role;
  Json config = parsed(text);
  if (!config.is_object()) {
    throw invalid_argument("TF_CONFIG is {}, not a JSON object such as {}", text.substr(0, 200),
                           kExample);
  }
  if (config.contains("task")) take_task(config["task"], role);
  if (!config.contains("cluster")) return role;
  try {
    role.cluster = ClusterSpec::from_json(config["cluster"].dump());
  } catch (const Error& e) {
    throw invalid_argument("TF_CONFIG: {}", e.message());
  }
  return role;
}

TaskRole role_from_environment() {
  const char* text = std::getenv("TF_CONFIG");
  return parse_tf_config(text ? text : "");
}

}  // namespace capstan
