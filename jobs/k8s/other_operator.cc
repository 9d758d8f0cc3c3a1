#include "jobs/k8s/other_operator.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jobs/k8s/job_runner.h"
#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

// The first word of our User-Agent, which the server takes for the writer's name.
constexpr std::string_view kOurName = "capstan";

bool is_operator(const json& entry) {
  const std::string name = text_at(entry, "manager");
  const bool status = text_at(entry, "subresource") == "status" &&
                      at(entry, "fieldsV1", "f:status", "f:conditions").is_object();
  return status && name != kOurName && !name.starts_with("kubectl");
}

}  // namespace

std::string other_operator(const json& job) {
  for (const json& entry : list_at(at(job, "metadata"), "managedFields")) {
    if (is_operator(entry)) return text_at(entry, "manager");
  }
  return "";
}

bool JobRunner::hear_of_others(const json& object) {
  if (context_.cluster.take_over || !other_.empty()) return false;
  other_ = other_operator(object);
  if (other_.empty()) return false;
  status_writer_.stop();
  say(EventType::kWarning, "TFJobOfAnotherOperator",
      fmt::format(
          "the operator {} writes the status of this job and has it; this one stands back. "
          "One operator for a namespace (--namespace), or capstan operator --take-over once "
          "the other is gone",
          other_));
  return true;
}

}  // namespace capstan::jobs::k8s
