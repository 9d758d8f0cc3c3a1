#include "jobs/k8s/local_status.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "jobs/k8s/kube_time.h"
#include "jobs/text_table.h"

namespace capstan::jobs::k8s {

LocalStatus::LocalStatus(const TfJob& job, std::function<double()> clock)
    : job_(job), clock_(std::move(clock)) {
  const double now = clock_();
  enter(status_, JobPhase::kCreated, phase_message(job_, JobPhase::kCreated), now);
  status_.started = kube_time(now);
}

// The job runs once its chief does; where there is none, once a worker does.
void LocalStatus::started(const TaskReport& task) {
  const ReplicaSpec* chief = job_.chief();
  const ReplicaType lead = chief ? chief->type : ReplicaType::kWorker;
  if (task.task.job != task_name(lead)) return;
  enter(status_, JobPhase::kRunning, phase_message(job_, JobPhase::kRunning), clock_());
}

void LocalStatus::restarts(const TaskReport& task, double) {
  const std::string why = task.attempts.empty() ? "" : task.attempts.back().why;
  enter(status_, JobPhase::kRestarting,
        fmt::format("{}: {} ended ({})", phase_message(job_, JobPhase::kRestarting),
                    task.task.name(), why),
        clock_());
}

void LocalStatus::finish(const JobReport& report) {
  const JobPhase phase = report.exit_code == 0 ? JobPhase::kSucceeded : JobPhase::kFailed;
  std::string message = phase_message(job_, phase);
  if (!report.reason.empty()) message += ": " + report.reason;
  JobState state;
  state.tasks = report.tasks;
  status_.replicas = count_replicas(job_, state);
  enter(status_, phase, std::move(message), clock_());
  if (phase == JobPhase::kSucceeded) count_cleaned(status_);
}

namespace {

std::string lines_of(const std::vector<Row>& rows) {
  std::string out;
  for (const std::string& line : text_table(rows)) out += line + "\n";
  return out;
}

}  // namespace

std::string status_table(const TfJobStatus& status) {
  std::vector<Row> conditions = {{"CONDITION", "STATUS", "REASON", "MESSAGE"}};
  for (const Condition& one : status.conditions) {
    conditions.push_back({printable(one.type), one.is ? "True" : "False", printable(one.reason),
                          printable(one.message)});
  }
  std::vector<Row> replicas = {
      {"REPLICAS", "ACTIVE", "PENDING", "SUCCEEDED", "FAILED", "RESTARTS"}};
  for (const ReplicaStatus& one : status.replicas) {
    replicas.push_back({std::string(type_name(one.type)), std::to_string(one.active),
                        std::to_string(one.pending), std::to_string(one.succeeded),
                        std::to_string(one.failed), std::to_string(one.restarts)});
  }
  return lines_of(conditions) + (replicas.size() > 1 ? "\n" + lines_of(replicas) : "");
}

}  // namespace capstan::jobs::k8s
