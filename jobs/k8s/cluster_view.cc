#include "jobs/k8s/cluster_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "jobs/k8s/cluster_jobs.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/kube_time.h"
#include "jobs/k8s/pod_seen.h"
#include "jobs/text_table.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr size_t kShownEvents = 20;

// From others, and for one line.
std::string plain(std::string_view text) { return printable(text.substr(0, text.find('\n'))); }

std::string meta(const json& object, std::string_view name) {
  return text_at(at(object, "metadata"), name);
}

std::string ago(const std::string& time, double now) {
  const auto then = parse_kube_time(time);
  return then ? duration_text(std::max(0.0, now - *then)) : "-";
}

// How long it has run, or ran.
double lasted(const json& job, double now) {
  const TfJobStatus status = seen_status(job);
  const auto start = parse_kube_time(status.started);
  if (!start) return 0;
  return std::max(0.0, parse_kube_time(status.completed).value_or(now) - *start);
}

int active_of(const TfJobStatus& status) {
  int active = 0;
  for (const ReplicaStatus& one : status.replicas) active += one.active;
  return active;
}

std::string reason_of(const json& job) {
  const TfJobStatus status = seen_status(job);
  const Condition* failed = status.condition(JobPhase::kFailed);
  return failed && failed->is ? failed->message : "";
}

Row row_of(const json& job, bool spaces, double now) {
  Row row = {plain(meta(job, "name")),
             plain(state_of(job)),
             fmt::format("{}/{}", active_of(seen_status(job)), seen_tf_job(job).total_replicas()),
             duration_text(lasted(job, now)),
             ago(meta(job, "creationTimestamp"), now),
             plain(reason_of(job))};
  if (spaces) row.insert(row.begin(), plain(meta(job, "namespace")));
  return row;
}

void add(std::string& out, const std::vector<Row>& rows, size_t columns) {
  if (rows.size() < 2) return;
  out += "\n";
  for (const std::string& line : text_table(rows, columns)) out += line + "\n";
}

std::vector<Row> replica_rows(const json& job) {
  std::vector<Row> rows = {
      {"replicas", "wanted", "active", "pending", "succeeded", "failed", "started again"}};
  const TfJobStatus status = seen_status(job);
  for (const ReplicaSpec& replica : seen_tf_job(job).replicas) {
    const ReplicaStatus* seen = status.replica(replica.type);
    const ReplicaStatus one = seen ? *seen : ReplicaStatus{};
    rows.push_back({std::string(type_name(replica.type)), std::to_string(replica.replicas),
                    std::to_string(one.active), std::to_string(one.pending),
                    std::to_string(one.succeeded), std::to_string(one.failed),
                    std::to_string(one.restarts)});
  }
  return rows;
}

std::string pod_state(const PodSeen& pod) {
  if (pod.is_going()) return "Terminating";
  if (!pod.reason.empty()) return plain(pod.reason);
  if (pod.out_of_memory) return "OOMKilled";
  if (pod.exit_code && *pod.exit_code != 0) return fmt::format("exit code {}", *pod.exit_code);
  constexpr const char* kNames[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
  return kNames[size_t(pod.phase)];
}

std::vector<Row> pod_rows(const std::vector<json>& pods, double now) {
  std::vector<Row> rows = {{"pod", "state", "attempt", "node", "age", "waits for"}};
  for (const json& pod : pods) {
    const PodSeen seen = see_pod(pod);
    rows.push_back({plain(seen.name.name), pod_state(seen),
                    std::to_string(seen.attempt + seen.restarts),
                    plain(text_at(at(pod, "spec"), "nodeName")),
                    ago(meta(pod, "creationTimestamp"), now), plain(seen.waits)});
  }
  return rows;
}

std::vector<Row> condition_rows(const json& job, double now) {
  std::vector<Row> rows = {{"condition", "status", "since", "reason", "message"}};
  for (const Condition& one : seen_status(job).conditions) {
    rows.push_back({plain(one.type), one.is ? "True" : "False", ago(one.changed, now),
                    plain(one.reason), plain(one.message)});
  }
  return rows;
}

std::vector<Row> event_rows(std::vector<json> events, double now) {
  std::ranges::stable_sort(events, {}, [](const json& one) {
    return parse_kube_time(text_at(one, "lastTimestamp")).value_or(0);
  });
  if (events.size() > kShownEvents) events.erase(events.begin(), events.end() - kShownEvents);
  std::vector<Row> rows = {{"event", "times", "last", "message"}};
  for (const json& one : events) {
    const bool warns = text_at(one, "type") == "Warning";
    rows.push_back({(warns ? "! " : "") + plain(text_at(one, "reason")),
                    std::to_string(whole_at(one, "count").value_or(1)),
                    ago(text_at(one, "lastTimestamp"), now), plain(text_at(one, "message"))});
  }
  return rows;
}

}  // namespace

std::string tf_jobs_table(std::vector<json> jobs, bool spaces, double now, size_t columns) {
  std::ranges::stable_sort(jobs, std::greater<>(), [](const json& job) {
    return parse_kube_time(meta(job, "creationTimestamp")).value_or(0);
  });
  std::vector<Row> rows = {{"name", "state", "active", "time", "age", "why"}};
  if (spaces) rows[0].insert(rows[0].begin(), "namespace");
  for (const json& job : jobs) rows.push_back(row_of(job, spaces, now));
  std::string out;
  for (const std::string& line : text_table(rows, columns)) out += line + "\n";
  return out;
}

std::string tf_job_line_json(const json& job, double now) {
  const json line = {{"name", meta(job, "name")},
                     {"namespace", meta(job, "namespace")},
                     {"id", meta(job, "uid")},
                     {"state", state_of(job)},
                     {"created", parse_kube_time(meta(job, "creationTimestamp")).value_or(0)},
                     {"seconds", lasted(job, now)},
                     {"tasks", seen_tf_job(job).total_replicas()},
                     {"active", active_of(seen_status(job))},
                     {"reason", reason_of(job)}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string tf_job_text(const json& job, const std::vector<json>& pods,
                        const std::vector<json>& events, double now, size_t columns) {
  const TfJobStatus status = seen_status(job);
  std::vector<Row> head = {
      {"job", plain(fmt::format("{}/{}", meta(job, "namespace"), meta(job, "name")))},
      {"state",
       plain(fmt::format("{}, age {}", state_of(job), ago(meta(job, "creationTimestamp"), now)))}};
  if (const std::string why = reason_of(job); !why.empty()) head.push_back({"why", plain(why)});
  if (!status.started.empty()) {
    head.push_back({"ran", fmt::format("{}, from {}", duration_text(lasted(job, now)),
                                       plain(status.started))});
  }
  std::string out;
  for (const std::string& line : text_table(head, columns)) out += line + "\n";
  add(out, replica_rows(job), columns);
  add(out, pod_rows(pods, now), columns);
  add(out, condition_rows(job, now), columns);
  add(out, event_rows(events, now), columns);
  return out;
}

}  // namespace capstan::jobs::k8s
