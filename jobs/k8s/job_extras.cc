// What a job has beside its replicas: a secret, TensorBoard, a NetworkPolicy.

#include <fmt/format.h>

#include "jobs/k8s/json_at.h"
#include "jobs/k8s/owned.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr int kBoardPort = 6006;

Labels board_labels(const TfJob& job) {
  return {{std::string(kJobLabel), job.name}, {std::string(kComponentLabel), "tensorboard"}};
}

std::string board_image(const TfJob& job) {
  if (!job.tensorboard->image.empty()) return job.tensorboard->image;
  const ReplicaSpec* first = job.chief();
  if (!first) first = job.replica(ReplicaType::kWorker);
  if (!first && !job.replicas.empty()) first = &job.replicas.front();
  if (!first) return "";
  for (const json& container : list_at(at(*first->template_json, "spec"), "containers")) {
    if (text_at(container, "name") == kMainContainer) return text_at(container, "image");
  }
  return "";
}

json board_container(const TfJob& job) {
  const TensorBoardSpec& board = *job.tensorboard;
  json container = {
      {"name", "tensorboard"},
      {"image", board_image(job)},
      {"command", json::array({"tensorboard"})},
      {"args",
       {"--logdir", board.log_dir, "--host", "0.0.0.0", "--port", std::to_string(kBoardPort)}},
      {"ports", {{{"name", "tensorboard"}, {"containerPort", kBoardPort}}}}};
  if (board.volume_mounts) container["volumeMounts"] = *board.volume_mounts;
  return container;
}

}  // namespace

// Not that of another job of this name, which may be collected at any moment.
std::string secret_name(const TfJob& job) {
  return fmt::format("{}-secret-{}", job.name, job.uid.substr(0, 8));
}
std::string tensorboard_name(const TfJob& job) { return job.name + "-tensorboard"; }
std::string network_policy_name(const TfJob& job) { return job.name + "-only"; }

json secret_of(const TfJob& job, std::string_view secret) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", metadata_of(job, secret_name(job), job_labels(job))},
          {"type", "Opaque"},
          {"stringData", {{std::string(kSecretKey), secret}}}};
}

json tensorboard_pod_of(const TfJob& job) {
  json spec = {{"restartPolicy", "Always"}, {"containers", json::array({board_container(job)})}};
  if (job.tensorboard->volumes) spec["volumes"] = *job.tensorboard->volumes;
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", metadata_of(job, tensorboard_name(job), board_labels(job))},
          {"spec", std::move(spec)}};
}

json tensorboard_service_of(const TfJob& job) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadata_of(job, tensorboard_name(job), board_labels(job))},
          {"spec",
           {{"type", job.tensorboard->service_type},
            {"selector", labels_json(board_labels(job))},
            {"ports", {{{"name", "http"}, {"port", 80}, {"targetPort", kBoardPort}}}}}}};
}

json network_policy_of(const TfJob& job) {
  const json own = {{"matchLabels", labels_json(job_labels(job))}};
  return {{"apiVersion", "networking.k8s.io/v1"},
          {"kind", "NetworkPolicy"},
          {"metadata", metadata_of(job, network_policy_name(job), job_labels(job))},
          {"spec",
           {{"podSelector", own},
            {"policyTypes", json::array({"Ingress"})},
            {"ingress", {{{"from", {{{"podSelector", own}}}}}}}}}};
}

}  // namespace capstan::jobs::k8s
