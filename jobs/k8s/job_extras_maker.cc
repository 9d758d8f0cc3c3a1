#include "jobs/k8s/job_extras_maker.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/random_hex.h"

namespace capstan::jobs::k8s {
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
  const bool gang = !context_.cluster.gang_scheduler.empty();
  awaited_ = 1 + int(gang) + int(job_.network_policy);
  writer_.make(kSecrets, secret_of(job_, random_hex(kSecretBytes)), one_more);
  if (job_.network_policy) writer_.make(kNetworkPolicies, network_policy_of(job_), one_more);
  if (gang) {
    writer_.make(pod_groups(context_.cluster.gang_scheduler), pod_group_of(job_, context_.cluster),
                 [this, alive = alive_](const MakeAnswer& answer) {
                   if (*alive) answer.error ? made(answer) : ask_for_group();
                 });
  }
  make_board();
}

void ExtrasMaker::removed(const std::string& name) {
  if (job_.tensorboard && name == tensorboard_name(job_)) make_board();
}

// What is not to be had has been said; the pods will tell what they lack.
void ExtrasMaker::made(const MakeAnswer&) {
  if (--awaited_ == 0) ready_();
}

void ExtrasMaker::ask_for_group() {
  ApiCall call{.verb = Verb::kGet, .resource = pod_groups(context_.cluster.gang_scheduler)};
  call.object = {job_.space, job_.name};
  context_.api.call(std::move(call), [this, alive = alive_](const ApiAnswer& answer) {
    if (!*alive) return;
    if (answer.ok() && !waits_for_pod_group(*answer.body, context_.cluster)) return made({});
    context_.loop.at(deadline_of(context_.clock.loop() + kAskAgain), [this, alive] {
      if (*alive) ask_for_group();
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
