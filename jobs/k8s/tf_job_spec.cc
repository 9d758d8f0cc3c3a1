// A TFJob as rules for a controller.

#include <algorithm>

#include "jobs/k8s/tf_job.h"
#include "jobs/k8s/tf_job_rules.h"
#include "jobs/task_spec.h"

namespace capstan::jobs::k8s {
namespace {

RestartPolicy restart_policy(ReplicaRestart restart) {
  switch (restart) {
    case ReplicaRestart::kNever: return RestartPolicy::kNever;
    case ReplicaRestart::kOnFailure: return RestartPolicy::kEveryFailure;
    case ReplicaRestart::kAlways: return RestartPolicy::kAlways;
    case ReplicaRestart::kExitCode: return RestartPolicy::kExitCode;
  }
  return RestartPolicy::kNever;
}

// A chief decides whatever is said of workers, but for a share of them.
void set_success(const TfJob& job, JobSpec& spec) {
  const ReplicaSpec* workers = job.replica(ReplicaType::kWorker);
  spec.success = SuccessRule::kLead;
  if (job.dynamic_workers) spec.least_workers = job.min_workers;
  if (job.success_policy == "AllWorkers" && !job.chief()) spec.success = SuccessRule::kWorkers;
  if (job.success_policy == "ChiefOnly") spec.least_workers = 0;
  if (const auto share = percentage(job.success_policy)) {
    spec.success = SuccessRule::kShare;
    spec.share = *share;
    spec.least_workers = int((int64_t{workers ? workers->replicas : 0} * *share + 99) / 100);
  }
}

}  // namespace

JobSpec job_spec(const TfJob& job) {
  JobSpec spec;
  spec.name = job.name;
  std::vector<std::pair<std::string, RestartPolicy>> restarts;
  for (const ReplicaSpec& replica : job.replicas) {
    spec.groups.push_back({std::string(task_name(replica.type)), replica.replicas});
    restarts.emplace_back(task_name(replica.type), restart_policy(replica.restart));
  }
  set_success(job, spec);
  spec.restart = RestartPolicy::kNever;
  spec.restarts = int(std::min<int64_t>(job.backoff_limit.value_or(kNoLimit), kNoLimit));
  spec.incident = 0;
  spec.replace_lost = true;
  spec.restart_together = job.restart_scope == RestartScope::kJob;
  spec.wait_for_evaluator = job.wait_for_evaluator;
  if (job.deadline_seconds) spec.timeout_seconds = double(*job.deadline_seconds);
  spec.secret = SecretBy::kFile;
  spec.adjust = [restarts](const Cluster&, TaskSpec& task) {
    for (const auto& [name, policy] : restarts) {
      if (name == task.task.job) task.restart = policy;
    }
  };
  return spec;
}

}  // namespace capstan::jobs::k8s
