#include "jobs/k8s/pod_platform.h"

#include <fmt/format.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace capstan::jobs::k8s {

using Json = nlohmann::json;

PodPlatform::PodPlatform(const TfJob& job, const JobPods& pods, ObjectWriter& writer,
                         OperatorContext& context)
    : job_(job),
      pods_(pods),
      writer_(writer),
      context_(context),
      alive_(std::make_shared<bool>(true)) {
  for (const ReplicaSpec& replica : job_.replicas) {
    for (int i = 0; i < replica.replicas; ++i) {
      services_[{std::string(task_name(replica.type)), i}] = Service::kNeeded;
    }
  }
}

PodPlatform::~PodPlatform() { *alive_ = false; }

void PodPlatform::may_make(bool may) {
  may_make_ = may;
  pods_changed();
}

// Changes of the map end the walk over it.
void PodPlatform::pods_changed() {
  make_services();
  std::vector<TaskId> tasks;
  for (const auto& [task, wanted] : wanted_) tasks.push_back(task);
  for (const TaskId& task : tasks) advance(task);
  for (const auto& [name, pod] : pods_.pods) watch_the_time(pod);
  tell();
}

void PodPlatform::pod_removed(const PodSeen& pod) {
  writer_.forget(pod.uid);
  timed_.erase(pod.uid);
  if (!pod.task) return;
  TaskStatus status = seen_status(pod);
  if (status.asked_to_stop && !status.ended) {
    status.ended = true;
    status.ended_at = context_.clock.loop();
    status.exit_code = kExitSignalBase + SIGTERM;
    status.signal = SIGTERM;
  }
  auto found = wanted_.find(*pod.task);
  const bool replaced = found != wanted_.end() && found->second.attempt > pod.attempt;
  if (status.ended && !replaced) gone_[*pod.task] = std::move(status);
  if (found != wanted_.end() && found->second.uid == pod.uid) drop(*pod.task);
}

void PodPlatform::start(const TaskSpec& spec, int attempt) {
  gone_.erase(spec.task);
  wanted_[spec.task] = {.attempt = attempt, .since = context_.clock.loop()};
  make_services();
  advance(spec.task);
}

// What still has the name goes first.
void PodPlatform::advance(const TaskId& task) {
  auto found = wanted_.find(task);
  if (found == wanted_.end() || found->second.error) return;
  Wanted& wanted = found->second;
  const PodSeen* pod = pod_of_task(task);
  if (pod && (pod->attempt >= wanted.attempt || pod->uid == wanted.uid)) return drop(task);
  if (pod) return writer_.remove(kPods, pod->name, pod->uid);
  if (may_make_ && wanted.uid.empty()) make(task, wanted);
}

void PodPlatform::make(const TaskId& task, Wanted& wanted) {
  const ReplicaSpec* spec = replica(task);
  if (!spec || writer_.makes(kPods, {job_.space, name_of(task)})) return;
  Json pod = k8s::pod_of(job_, *spec, task.index, wanted.attempt, context_.cluster);
  writer_.make(kPods, std::move(pod),
               [this, alive = alive_, task, attempt = wanted.attempt](const MakeAnswer& answer) {
                 if (*alive) made(task, attempt, answer);
               });
}

void PodPlatform::made(const TaskId& task, int attempt, const MakeAnswer& answer) {
  auto found = wanted_.find(task);
  if (found == wanted_.end()) return;
  Wanted& wanted = found->second;
  if (answer.error) {
    wanted.error = answer.error;
    return tell();
  }
  const PodSeen pod = see_pod(*answer.object);
  // Left by an attempt before: it will be seen, and then removed.
  if (pod.attempt < wanted.attempt || attempt != wanted.attempt) return;
  wanted.uid = pod.uid;
  if (wanted.stopped) {
    stopped_.insert(pod.uid);
    writer_.remove(kPods, pod.name, pod.uid);
  }
  at(context_.clock.loop() + context_.times.unseen,
     [this, task, uid = pod.uid] { look_for_unseen(task, uid); });
}

// Made, and perhaps removed before anybody saw it.
void PodPlatform::look_for_unseen(const TaskId& task, const std::string& uid) {
  auto found = wanted_.find(task);
  if (found == wanted_.end() || found->second.uid != uid) return;
  ApiCall call{.verb = Verb::kGet, .resource = kPods, .object = {job_.space, name_of(task)}};
  context_.api.call(std::move(call), [this, alive = alive_, task, uid](const ApiAnswer& answer) {
    if (!*alive) return;
    auto found = wanted_.find(task);
    if (found == wanted_.end() || found->second.uid != uid) return;
    const bool gone =
        !answer.ok() ? answer.error->code() == Code::kNotFound : see_pod(*answer.body).uid != uid;
    if (gone) return drop(task), tell();
    at(context_.clock.loop() + context_.times.unseen,
       [this, task, uid] { look_for_unseen(task, uid); });
  });
}

void PodPlatform::make_services() {
  for (auto& [task, service] : services_) {
    if (pods_.services.contains(name_of(task))) {
      service = Service::kSeen;
    } else if (may_make_ && service == Service::kNeeded) {
      make_service(task);
    }
  }
}

void PodPlatform::make_service(const TaskId& task) {
  const ReplicaSpec* spec = replica(task);
  if (!spec || writer_.makes(kServices, {job_.space, name_of(task)})) return;
  writer_.make(kServices, service_of(job_, *spec, task.index),
               [this, alive = alive_, task](const MakeAnswer& answer) {
                 if (!*alive) return;
                 services_[task] = answer.error ? Service::kRefused : Service::kMade;
                 at(context_.clock.loop() + context_.times.unseen, [this, task] {
                   Service& service = services_[task];
                   if (service == Service::kMade) service = Service::kNeeded;
                   make_services();
                 });
               });
}

void PodPlatform::service_removed(const ServiceSeen& service) {
  if (!service.task || !services_.contains(*service.task)) return;
  services_[*service.task] = Service::kNeeded;
  make_services();
}

void PodPlatform::stop(const TaskId& task, StopHow how) {
  const bool at_once = how == StopHow::kKill;
  auto found = wanted_.find(task);
  if (found == wanted_.end()) {
    const PodSeen* pod = pod_of_task(task);
    if (!pod) return;
    stopped_.insert(pod->uid);
    return writer_.remove(kPods, pod->name, pod->uid, at_once);
  }
  Wanted& wanted = found->second;
  wanted.stopped = true;
  if (!wanted.uid.empty()) {
    stopped_.insert(wanted.uid);
    return writer_.remove(kPods, {job_.space, name_of(task)}, wanted.uid, at_once);
  }
  if (writer_.makes(kPods, {job_.space, name_of(task)})) return;
  TaskStatus status = wanted_status(task, wanted);
  status.ended = true;
  status.ended_at = context_.clock.loop();
  gone_[task] = std::move(status);
  drop(task);
  tell();
}

std::vector<TaskStatus> PodPlatform::list() const {
  std::map<TaskId, TaskStatus> all = gone_;
  for (const auto& [name, pod] : pods_.pods) {
    if (pod.task && name == name_of(*pod.task)) all[*pod.task] = seen_status(pod);
  }
  for (const auto& [task, wanted] : wanted_) all[task] = wanted_status(task, wanted);
  std::vector<TaskStatus> list;
  for (auto& [task, status] : all) list.push_back(std::move(status));
  return list;
}

TaskStatus PodPlatform::wanted_status(const TaskId& task, const Wanted& wanted) const {
  TaskStatus status{.task = task, .attempt = wanted.attempt};
  status.started_at = wanted.since;
  status.pending = true;
  status.asked_to_stop = wanted.stopped;
  if (!wanted.error) return status;
  status.ended = true;
  status.ended_at = context_.clock.loop();
  status.exit_code = kExitSignalBase - 1;
  status.start_error = wanted.error;
  return status;
}

TaskStatus PodPlatform::seen_status(const PodSeen& pod) const {
  TaskStatus status = task_status(pod, context_.clock);
  status.asked_to_stop = stopped_.contains(pod.uid);
  if (!status.ended && timed_out_.contains(pod.uid)) {
    status.ended = true;
    status.ended_at = context_.clock.loop();
    status.exit_code = kExitSignalBase - 1;
    status.start_error = unavailable("{}", timed_out_.at(pod.uid));
  }
  return status;
}

// When something is due though nothing happens: a pod that does not go, one that does not come.
void PodPlatform::watch_the_time(const PodSeen& pod) {
  double due = 0;
  const auto timeout = job_.pending_timeout_seconds;
  if (pod.is_going()) {
    due = pod.gone_by + context_.times.stuck;
  } else if (timeout && pod.phase == PodPhase::kPending) {
    due = pod.created + double(*timeout);
  }
  double& timed = timed_[pod.uid];
  if (due == 0 || timed == due) return;
  timed = due;
  at(context_.clock.loop_time(due), [this, name = pod.name.name, uid = pod.uid] {
    const PodSeen* now = pods_.pod(name);
    if (now && now->uid == uid) be_due(*now);
  });
}

void PodPlatform::be_due(const PodSeen& pod) {
  if (pod.is_going()) return writer_.remove(kPods, pod.name, pod.uid, /*at_once=*/true);
  if (!job_.pending_timeout_seconds || pod.phase != PodPhase::kPending) return;
  timed_out_[pod.uid] = fmt::format("pending for {} s{}{}", *job_.pending_timeout_seconds,
                                    pod.waits.empty() ? "" : ": ", pod.waits);
  tell();
}

void PodPlatform::drop(const TaskId& task) { wanted_.erase(task); }

void PodPlatform::tell() {
  context_.loop.post([this, alive = alive_] {
    if (*alive && watcher_) watcher_->changed();
  });
}

void PodPlatform::at(double time, std::function<void()> what) {
  context_.loop.at(deadline_of(time), [alive = alive_, what = std::move(what)] {
    if (*alive) what();
  });
}

const ReplicaSpec* PodPlatform::replica(const TaskId& task) const {
  const auto type = replica_type(task.job);
  return type ? job_.replica(*type) : nullptr;
}

std::string PodPlatform::name_of(const TaskId& task) const {
  const auto type = replica_type(task.job);
  return type ? replica_name(job_, *type, task.index) : task.name();
}

const PodSeen* PodPlatform::pod_of_task(const TaskId& task) const {
  return pods_.pod(name_of(task));
}

}  // namespace capstan::jobs::k8s
