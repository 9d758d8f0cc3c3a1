#include "main/tf_config.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cluster/cluster_spec.h"

namespace capstan::cli {
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

void check_task(const Json& task) {
  Json type = task.is_object() ? task.value("type", Json()) : Json();
  Json index = task.is_object() ? task.value("index", Json(0U)) : Json();
  if (type.is_string() && index.is_number_unsigned()) return;
  throw invalid_argument(
      "TF_CONFIG: the task {} is not of the form {{\"type\": \"worker\", \"index\": 0}}",
      task.dump());
}

}  // namespace

void check_tf_config(std::string_view text) {
  if (text.empty()) return;
  Json config = parsed(text);
  if (!config.is_object()) {
    throw invalid_argument("TF_CONFIG is {}, not a JSON object such as {}", text.substr(0, 200),
                           kExample);
  }
  if (config.contains("task")) check_task(config["task"]);
  if (!config.contains("cluster")) return;
  try {
    ClusterSpec::from_json(config["cluster"].dump());
  } catch (const Error& e) {
    throw invalid_argument("TF_CONFIG: {}", e.message());
  }
}

}  // namespace capstan::cli
