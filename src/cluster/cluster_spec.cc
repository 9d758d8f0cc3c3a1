#include "cluster/cluster_spec.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "proto/cluster.pb.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

std::string address_from(const Json& value, std::string_view job) {
  if (!value.is_string()) {
    throw invalid_argument(
        "job '{}' of the cluster spec holds {}, which is not a \"host:port\" text", job,
        value.dump());
  }
  return value.get<std::string>();
}

int index_from(const std::string& text, std::string_view job) {
  size_t used = 0;
  int index = -1;
  try {
    index = std::stoi(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size() || text.empty() || index < 0) {
    throw invalid_argument(
        "job '{}' of the cluster spec has the task index '{}', which is not a number from 0 on",
        job, text);
  }
  return index;
}

void add_job(ClusterSpec& spec, const std::string& job, const Json& tasks) {
  if (tasks.is_string()) {
    spec.add_task(job, 0, tasks.get<std::string>());
  } else if (tasks.is_array()) {
    int index = 0;
    for (const Json& address : tasks) spec.add_task(job, index++, address_from(address, job));
  } else if (tasks.is_object()) {
    for (auto it = tasks.begin(); it != tasks.end(); ++it) {
      spec.add_task(job, index_from(it.key(), job), address_from(it.value(), job));
    }
  } else {
    throw invalid_argument("job '{}' of the cluster spec is {}, not a list of \"host:port\" texts",
                           job, tasks.dump());
  }
}

}  // namespace

ClusterSpec ClusterSpec::from_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw invalid_argument(
        "the cluster spec is not a JSON object such as {{\"ps\": [\"host:port\"]}}: {}",
        text.substr(0, 200));
  }
  ClusterSpec spec;
  for (auto it = json.begin(); it != json.end(); ++it) add_job(spec, it.key(), it.value());
  return spec;
}

ClusterSpec ClusterSpec::from_cluster_def(std::string_view bytes) {
  pb::ClusterDef def;
  if (!def.ParseFromArray(bytes.data(), int(bytes.size())))
    throw invalid_argument("the bytes are no ClusterDef");
  ClusterSpec spec;
  for (const auto& job : def.job()) {
    for (const auto& [index, address] : job.tasks()) spec.add_task(job.name(), index, address);
  }
  return spec;
}

void ClusterSpec::add_task(const std::string& job, int index, std::string address) {
  if (job.empty()) throw invalid_argument("a job of the cluster spec has no name");
  if (index < 0) throw invalid_argument("job '{}' of the cluster spec has a task {}", job, index);
  jobs_[job][index] = std::move(address);
}

bool ClusterSpec::has(std::string_view job, int index) const {
  auto it = jobs_.find(std::string(job));
  return it != jobs_.end() && it->second.count(index);
}

const std::string& ClusterSpec::address(std::string_view job, int index) const {
  if (has(job, index)) return jobs_.at(std::string(job)).at(index);
  std::string known;
  for (const auto& [name, tasks] : jobs_) {
    for (const auto& [task, address] : tasks)
      known += fmt::format("{}{}/{}", known.empty() ? "" : ", ", name, task);
  }
  throw invalid_argument(
      "task {} of job '{}' is not in the cluster spec, which has {}; check job_name and task_index",
      index, job, known.empty() ? "no tasks" : known);
}

int ClusterSpec::tasks(std::string_view job) const {
  auto it = jobs_.find(std::string(job));
  return it == jobs_.end() ? 0 : int(it->second.size());
}

std::string ClusterSpec::to_cluster_def() const {
  pb::ClusterDef def;
  for (const auto& [name, tasks] : jobs_) {
    pb::JobDef& job = *def.add_job();
    job.set_name(name);
    for (const auto& [index, address] : tasks) (*job.mutable_tasks())[index] = address;
  }
  return def.SerializeAsString();
}

std::string ClusterSpec::canonical() const {
  std::string out;
  for (const auto& [name, tasks] : jobs_) {
    for (const auto& [index, address] : tasks)
      out += fmt::format("{}/{}={}\n", name, index, address);
  }
  return out;
}

}  // namespace capstan
