#include "jobs/k8s/job_runner.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/k8s/job_memory.h"
#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

// The platform sees to pods that do not go.
ControllerOptions controller_options() { return {.stop_grace = 1e9}; }

JobSpec rules_of(const TfJob& job) {
  JobSpec spec = job_spec(job);
  spec.at_end = AtEnd::kLeave;
  return spec;
}

ObjectName name_in(const json& object) {
  return {text_at(at(object, "metadata"), "namespace"), text_at(at(object, "metadata"), "name")};
}

}  // namespace

JobRunner::Live::Live(JobRunner& runner, TfJob its_job, JobState state)
    : job(std::move(its_job)),
      platform(job, runner.pods_, runner.writer_, runner.context_),
      extras(job, runner.pods_, runner.writer_, runner.context_,
             [this] { platform.may_make(true); }),
      controller(rules_of(job), Cluster(), platform, runner.context_.loop, runner, std::move(state),
                 controller_options()) {
  controller.on_change([&runner] { runner.soon(); });
}

JobRunner::JobRunner(OperatorContext& context, const JobPods& pods, const json& object)
    : context_(context),
      pods_(pods),
      writer_(context, name_in(object).name, text_at(at(object, "metadata"), "uid"), *this),
      status_writer_(context, name_in(object), text_at(at(object, "metadata"), "uid"), *this,
                     [this] { soon(); }),
      alive_(std::make_shared<bool>(true)) {
  status_ = read_status(at(object, "status"));
  read(object);
  hear_of_others(object);
}

JobRunner::~JobRunner() {
  context_.loop.cancel(ttl_timer_);
  context_.loop.cancel(clean_timer_);
  *alive_ = false;
}

void JobRunner::job_changed(const json& object) {
  if (hear_of_others(object)) soon();
  const int64_t generation = whole_at(at(object, "metadata"), "generation").value_or(0);
  const bool same = generation != 0 && generation == job_.generation;
  if (!same) {
    if (std::exchange(shrunk_, false)) status_ = read_status(at(object, "status"));
    return read(object);
  }
  if (shrunk_) return;
  job_.resource_version = text_at(at(object, "metadata"), "resourceVersion");
  status_writer_.seen(job_.resource_version, at(object, "status"));
}

void JobRunner::read(const json& object) {
  errors_.clear();
  job_ = read_tf_job(object, /*strict=*/false, errors_);
  job_.status.reset();
  status_writer_.seen(job_.resource_version, at(object, "status"));
  soon();
}

void JobRunner::soon() {
  if (std::exchange(scheduled_, true)) return;
  context_.loop.post([this, alive = alive_] {
    if (*alive) look();
  });
}

void JobRunner::look() {
  scheduled_ = false;
  if (shrunk_) return remove_after_its_time();
  if (job_.being_deleted || !is_ours(job_) || !other_.empty()) {
    stop_living();
  } else if (status_.ended()) {
    be_finished();
  } else if (!errors_.empty()) {
    be_invalid();
  } else if (job_.suspend) {
    be_suspended();
  } else {
    be_live();
  }
}

void JobRunner::stop_living() {
  if (!live_) return;
  live_.reset();
  writer_.give_up_making();
}

void JobRunner::be_invalid() {
  std::string message = "the job is not valid";
  for (const FieldError& error : errors_) message += "; " + error.text();
  say(EventType::kWarning, "TFJobFailedValidation", message);
  enter(status_, JobPhase::kCreated, phase_message(job_, JobPhase::kCreated),
        context_.clock.wall());
  enter(status_, JobPhase::kFailed, message, context_.clock.wall(), "TFJobFailedValidation");
  be_finished();
}

void JobRunner::be_suspended() {
  stop_living();
  enter(status_, JobPhase::kCreated, phase_message(job_, JobPhase::kCreated),
        context_.clock.wall());
  const std::string message = phase_message(job_, JobPhase::kSuspended);
  if (enter(status_, JobPhase::kSuspended, message, context_.clock.wall())) {
    say(EventType::kNormal, "TFJobSuspended", message);
  }
  for (ReplicaStatus& replica : status_.replicas) replica.active = replica.pending = 0;
  save();
  clean(everything(pods_));
  remove_group();
}

void JobRunner::be_live() {
  if (!live_ || live_->job.generation != job_.generation) begin();
  if (live_->controller.done()) return conclude();
  clean(surplus(job_, pods_));
  note_running();
  count();
  save();
}

void JobRunner::begin() {
  const double now = context_.clock.wall();
  enter(status_, JobPhase::kCreated, phase_message(job_, JobPhase::kCreated), now);
  const std::string resumed = fmt::format("job {}/{} is resumed", job_.space, job_.name);
  if (resume(status_, resumed, now)) say(EventType::kNormal, "TFJobResumed", resumed);
  if (status_.started.empty()) status_.started = kube_time(now);
  JobState state = live_ ? resized_state(job_, live_->controller.state())
                         : remembered_state(job_, status_, context_.clock);
  stop_living();
  live_ = std::make_unique<Live>(*this, job_, std::move(state));
  live_->extras.start();
  live_->controller.start();
  for (const auto& [name, pod] : pods_.pods) tell_why_it_waits(pod);
  if (std::exchange(told_warnings_, true)) return;
  for (const auto& warnings : {warnings_of(job_), gang_warnings(job_, context_.cluster)}) {
    for (const JobWarning& one : warnings) say(EventType::kWarning, one.reason, one.message);
  }
}

void JobRunner::pod_changed(const PodSeen& pod) {
  if (pod.phase == PodPhase::kRunning) note_running();
  if (live_) tell_why_it_waits(pod);
  if (live_) live_->platform.pods_changed();
  soon();
}

void JobRunner::tell_why_it_waits(const PodSeen& pod) {
  const size_t colon = pod.waits.find(": ");
  const std::string reason = pod.waits.substr(0, colon);
  if (pod.phase != PodPhase::kPending || reason.empty()) return;
  if (reason == "ContainerCreating" || reason == "PodInitializing") return;
  const std::string rest = colon == std::string::npos ? "" : pod.waits.substr(colon);
  say(EventType::kWarning, reason, fmt::format("pod {} waits{}", pod.name.name, rest));
}

void JobRunner::pod_removed(const PodSeen& pod) {
  writer_.forget(pod.uid);
  if (live_) {
    live_->platform.pod_removed(pod);
    live_->platform.pods_changed();
    live_->extras.removed(pod.name.name);
  }
  soon();
}

void JobRunner::service_removed(const ServiceSeen& service) {
  writer_.forget(service.uid);
  if (live_) {
    live_->platform.service_removed(service);
    live_->extras.removed(service.name.name);
  }
  soon();
}

void JobRunner::group_changed() {
  if (live_ && pods_.group && !pods_.group->waits.empty()) {
    say(EventType::kWarning, "Unschedulable",
        fmt::format("pod group {} waits: {}", pods_.group->name.name, pods_.group->waits));
  }
  if (live_) live_->extras.group_changed();
  soon();
}

void JobRunner::say(EventType type, std::string_view reason, std::string_view message) {
  const EventTarget about{.resource = kTfJobs,
                          .object = {job_.space, job_.name},
                          .uid = job_.uid,
                          .resource_version = job_.resource_version,
                          .api_version = job_.api_version};
  context_.events.record(about, type, reason, message);
}

void JobRunner::save() { status_writer_.write(to_json(status_)); }

}  // namespace capstan::jobs::k8s
