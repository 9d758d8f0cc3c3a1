#include "jobs/k8s/job_extras_maker.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/k8s/json_at.h"
#include "jobs/random_hex.h"

namespace capstan::jobs::k8s {

using Json = nlohmann::json;

namespace {

constexpr Resource kVolcanoGroups = {"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"};
constexpr Resource kPluginGroups = {"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"};
constexpr size_t kSecretBytes = 32;
constexpr double kAskAgain = 1.0;

}  // namespace

Resource pod_groups(std::string_view gang_scheduler) {
  return gang_scheduler == "volcano" ? kVolcanoGroups : kPluginGroups;
}

ExtrasMaker::ExtrasMaker(const TfJob& job, const JobPods& pods, ObjectWriter& writer,
                         OperatorContext& context, std::function<void()> ready)
    : job_(job),
      pods_(pods),
      writer_(writer),
      context_(context),
      ready_(std::move(ready)),
      alive_(std::make_shared<bool>(true)) {}

ExtrasMaker::~ExtrasMaker() { *alive_ = false; }

void ExtrasMaker::start() {
  auto one_more = [this, alive = alive_](const MakeAnswer& answer) {
    if (*alive) made(answer);
  };
  awaited_ = 1 + int(has_gang()) + int(job_.network_policy);
  writer_.make(kSecrets, secret_of(job_, random_hex(kSecretBytes)), one_more);
  if (job_.network_policy) writer_.make(kNetworkPolicies, network_policy_of(job_), one_more);
  group_changed();
  make_board();
}

void ExtrasMaker::removed(const std::string& name) {
  if (job_.tensorboard && name == tensorboard_name(job_)) make_board();
}

// What is not to be had has been said; the pods will tell what they lack.
void ExtrasMaker::made(const MakeAnswer&) {
  if (--awaited_ == 0) ready_();
}

void ExtrasMaker::group_changed() {
  if (!has_gang()) return;
  if (!pods_.group) return make_group();
  if (pods_.group->going) return;
  keep_group();
  if (waits_for_pod_group(pods_.group->phase, context_.cluster)) return;
  if (!std::exchange(grouped_, true)) made({});
}

// Once it is there the informer tells.
void ExtrasMaker::make_group() {
  asked_.reset();
  writer_.make(pod_groups(context_.cluster.gang_scheduler), pod_group_of(job_, context_.cluster),
               [this, alive = alive_](const MakeAnswer& answer) {
                 if (!*alive || !answer.error) return;
                 if (!std::exchange(grouped_, true)) made(answer);
               });
}

// The job has changed since it was made. Asked once: a scheduler may have its own mind.
void ExtrasMaker::keep_group() {
  const Json wanted = pod_group_of(job_, context_.cluster).at("spec");
  Json patch = Json::object();
  for (const auto& [name, value] : wanted.items()) {
    if (at(*pods_.group->spec, name) != value) patch[name] = value;
  }
  if (patch.empty() || (asked_ && *asked_ == patch)) return;
  asked_ = std::make_shared<const Json>(patch);
  change_group(patch);
}

void ExtrasMaker::change_group(const Json& patch) {
  ApiCall call{.verb = Verb::kMergePatch, .resource = pod_groups(context_.cluster.gang_scheduler)};
  call.object = {job_.space, job_.name};
  call.body = std::make_shared<const Json>(Json{{"spec", patch}});
  context_.api.call(std::move(call), [this, alive = alive_, patch](const ApiAnswer& answer) {
    if (!*alive || answer.ok() || answer.error->code() == Code::kNotFound) return;
    context_.loop.at(deadline_of(context_.clock.loop() + kAskAgain), [this, alive, patch] {
      if (*alive) change_group(patch);
    });
  });
}

void ExtrasMaker::make_board() {
  if (!job_.tensorboard) return;
  const std::string name = tensorboard_name(job_);
  if (!pods_.services.contains(name)) writer_.make(kServices, tensorboard_service_of(job_));
  if (!pods_.pods.contains(name)) writer_.make(kPods, tensorboard_pod_of(job_));
}

}  // namespace capstan::jobs::k8s
