#include "jobs/k8s/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

ObjectName name_in(const json& object) {
  return {text_at(at(object, "metadata"), "namespace"), text_at(at(object, "metadata"), "name")};
}

}  // namespace

// Takes what one informer tells to the functions for it.
class Operator::Sink final : public InformerSink {
 public:
  using Changed = std::function<void(json&&)>;
  using Removed = void (Operator::*)(const ObjectName&, std::string_view);
  Sink(Operator& to, Changed changed, Removed removed)
      : to_(to), changed_(std::move(changed)), removed_(removed) {}

  void added_or_changed(json&& object) override { changed_(std::move(object)); }
  void removed(const ObjectName& object, std::string_view uid) override {
    (to_.*removed_)(object, uid);
  }
  void synced() override { to_.begin_when_all_is_known(); }
  void troubled(const Error& error) override { to_.note(error.message()); }

 private:
  Operator& to_;
  const Changed changed_;
  const Removed removed_;
};

Operator::Operator(KubeApi& api, Loop& loop, Random& random, OperatorOptions options,
                   std::function<void(std::string_view)> note, WallClock clock)
    : options_(std::move(options)),
      note_(std::move(note)),
      events_(api, loop, random, options_.events, clock),
      context_{.api = api,
               .loop = loop,
               .random = random,
               .events = events_,
               .clock = KubeClock(loop, clock),
               .cluster = options_.cluster,
               .times = options_.times} {
  auto add = [&](Resource resource, std::string labels, Sink::Changed changed,
                 Sink::Removed removed) {
    sinks_.push_back(std::make_unique<Sink>(*this, std::move(changed), removed));
    InformerOptions settings = options_.informer;
    settings.space = options_.space;
    settings.labels = std::move(labels);
    informers_.push_back(
        std::make_unique<Informer>(api, loop, random, resource, settings, *sinks_.back()));
  };
  const std::string of_jobs(kJobLabel);
  add(
      kTfJobs, "", [this](json&& job) { job_changed(std::move(job)); }, &Operator::job_removed);
  add(
      kPods, of_jobs, [this](json&& pod) { pod_changed(pod); }, &Operator::pod_removed);
  add(
      kServices, of_jobs, [this](json&& service) { service_changed(service); },
      &Operator::service_removed);
  if (options_.cluster.gang_scheduler.empty()) return;
  add(
      pod_groups(options_.cluster.gang_scheduler), of_jobs,
      [this](json&& group) { group_changed(group); }, &Operator::group_removed);
}

// Runners and informers call each other no more once they go.
Operator::~Operator() {
  informers_.clear();
  runners_.clear();
}

void Operator::start() {
  for (auto& informer : informers_) informer->start();
}

bool Operator::synced() const {
  return std::ranges::all_of(informers_, [](const auto& informer) { return informer->synced(); });
}

// Before that a pod that is there would be taken for one that is missing.
void Operator::begin_when_all_is_known() {
  if (begun_ || !synced()) return;
  begun_ = true;
  std::vector<json> early;
  early.swap(early_);
  for (json& job : early) job_changed(std::move(job));
  note(fmt::format("watching {} job{}", runners_.size(), runners_.size() == 1 ? "" : "s"));
}

void Operator::job_changed(json&& object) {
  if (!begun_) return early_.push_back(std::move(object));
  const ObjectName name = name_in(object);
  const std::string uid = text_at(at(object, "metadata"), "uid");
  auto& runner = runners_[name];
  if (runner && runner->uid() == uid) return runner->job_changed(object);
  if (runner) by_uid_.erase(runner->uid());
  runner = std::make_unique<JobRunner>(context_, pods_[uid], object);
  by_uid_[uid] = runner.get();
}

void Operator::job_removed(const ObjectName& name, std::string_view uid) {
  std::erase_if(early_, [&](const json& job) { return name_in(job) == name; });
  auto found = runners_.find(name);
  if (found == runners_.end() || found->second->uid() != uid) return;
  runners_.erase(found);
  by_uid_.erase(std::string(uid));
  drop_if_empty(std::string(uid));
}

void Operator::pod_changed(const json& object) {
  PodSeen pod = see_pod(object);
  if (pod.owner.empty()) return;
  const PodSeen* before = pods_[pod.owner].pod(pod.name.name);
  if (before && before->uid != pod.uid) pod_removed(pod.name, before->uid);
  pod_owners_[pod.name] = pod.owner;
  const PodSeen& kept = pods_[pod.owner].pods[pod.name.name] = std::move(pod);
  if (JobRunner* runner = runner_of(kept.owner)) runner->pod_changed(kept);
}

void Operator::pod_removed(const ObjectName& name, std::string_view uid) {
  auto owner = pod_owners_.find(name);
  if (owner == pod_owners_.end()) return;
  auto& pods = pods_[owner->second].pods;
  auto found = pods.find(name.name);
  if (found == pods.end() || found->second.uid != uid) return;
  const PodSeen gone = std::move(found->second);
  pods.erase(found);
  pod_owners_.erase(owner);
  if (JobRunner* runner = runner_of(gone.owner)) runner->pod_removed(gone);
  drop_if_empty(gone.owner);
}

void Operator::service_changed(const json& object) {
  ServiceSeen service = see_service(object);
  if (service.owner.empty()) return;
  service_owners_[service.name] = service.owner;
  pods_[service.owner].services[service.name.name] = service;
}

void Operator::service_removed(const ObjectName& name, std::string_view uid) {
  auto owner = service_owners_.find(name);
  if (owner == service_owners_.end()) return;
  auto& services = pods_[owner->second].services;
  auto found = services.find(name.name);
  if (found == services.end() || found->second.uid != uid) return;
  const ServiceSeen gone = std::move(found->second);
  services.erase(found);
  service_owners_.erase(owner);
  if (JobRunner* runner = runner_of(gone.owner)) runner->service_removed(gone);
  drop_if_empty(gone.owner);
}

void Operator::group_changed(const json& object) {
  GroupSeen group = see_group(object);
  if (group.owner.empty()) return;
  const std::string owner = group.owner;
  group_owners_[group.name] = owner;
  pods_[owner].group = std::move(group);
  if (JobRunner* runner = runner_of(owner)) runner->group_changed();
}

void Operator::group_removed(const ObjectName& name, std::string_view uid) {
  auto found = group_owners_.find(name);
  if (found == group_owners_.end()) return;
  const std::string owner = found->second;
  std::optional<GroupSeen>& group = pods_[owner].group;
  if (!group || group->uid != uid) return;
  group.reset();
  group_owners_.erase(found);
  if (JobRunner* runner = runner_of(owner)) runner->group_changed();
  drop_if_empty(owner);
}

void Operator::drop_if_empty(const std::string& owner) {
  auto found = pods_.find(owner);
  if (found == pods_.end() || by_uid_.contains(owner)) return;
  if (found->second.empty()) pods_.erase(found);
}

JobRunner* Operator::runner_of(const std::string& uid) {
  auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : found->second;
}

void Operator::note(std::string_view text) {
  if (note_) note_(text);
}

}  // namespace capstan::jobs::k8s
