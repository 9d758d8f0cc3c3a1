#include "jobs/k8s/clean_rules.h"

namespace capstan::jobs::k8s {
namespace {

// With each pod its service. A service without a pod goes if `alone` says so of its name.
template <class Which, class Alone>
Cleaning choose(const JobPods& all, Which which, Alone alone) {
  Cleaning out;
  for (const auto& [name, pod] : all.pods) {
    if (pod.task && which(pod)) out.pods.push_back(&pod);
  }
  for (const auto& [name, service] : all.services) {
    if (!service.task) continue;
    const PodSeen* pod = all.pod(name);
    if (pod ? pod->task && which(*pod) : alone(service)) out.services.push_back(&service);
  }
  return out;
}

bool has_replica(const TfJob& job, const TaskId& task) {
  const auto type = replica_type(task.job);
  const ReplicaSpec* replica = type ? job.replica(*type) : nullptr;
  return replica && task.index < replica->replicas;
}

bool goes(const PodSeen& pod, CleanPods policy) {
  switch (policy) {
    case CleanPods::kAll: return true;
    case CleanPods::kRunning: return !pod.finished();
    case CleanPods::kPs: return pod.task->job == task_name(ReplicaType::kPs);
    case CleanPods::kNone: return false;
  }
  return false;
}

}  // namespace

Cleaning after_the_end(const JobPods& pods, CleanPods policy) {
  return choose(
      pods, [&](const PodSeen& pod) { return goes(pod, policy); },
      [&](const ServiceSeen&) {
        return policy == CleanPods::kAll || policy == CleanPods::kRunning;
      });
}

Cleaning everything(const JobPods& pods) {
  return choose(
      pods, [](const PodSeen&) { return true; }, [](const ServiceSeen&) { return true; });
}

Cleaning surplus(const TfJob& job, const JobPods& pods) {
  return choose(
      pods, [&](const PodSeen& pod) { return !has_replica(job, *pod.task); },
      [&](const ServiceSeen& service) { return !has_replica(job, *service.task); });
}

}  // namespace capstan::jobs::k8s
