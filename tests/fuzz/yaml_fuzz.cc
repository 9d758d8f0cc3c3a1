// Files with TFJobs: YAML and JSON, what is read of a job, and the objects made of it. Input: the
// text of the file.

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/tf_job_status.h"
#include "jobs/k8s/yaml.h"
#include "jobs/k8s/yaml_text.h"

namespace capstan {
namespace {

using namespace jobs::k8s;
using nlohmann::json;

// Small enough for thousands of runs a second.
constexpr ReadLimits kLimits = {.bytes = 1 << 16, .nodes = 5'000, .depth = 64};
constexpr int kMostReplicas = 20;

void demand(bool right) {
  if (!right) __builtin_trap();
}

// What we write we read as the same.
void write_and_read(const json& value) {
  const std::string text = yaml_text(value);
  const auto again = read_documents(text, "again");
  demand(value.is_null() ? again.empty() : again.size() == 1 && *again[0].json == value);
}

void make_objects(const TfJob& job) {
  for (const ReplicaSpec& replica : job.replicas) {
    for (int i = 0; i < replica.replicas; ++i) {
      demand(pod_of(job, replica, i, 1).contains("spec"));
      demand(service_of(job, replica, i)["spec"]["clusterIP"] == "None");
      demand(json::accept(tf_config(job, replica.type, i)));
    }
  }
  if (job.tensorboard) tensorboard_pod_of(job), tensorboard_service_of(job);
  pod_group_of(job, {.gang_scheduler = "volcano"});
  warnings_of(job);
}

void read_job(const json& object) {
  std::vector<FieldError> errors;
  read_tf_job(object, /*strict=*/false, errors);
  errors.clear();
  const TfJob job = read_tf_job(object, /*strict=*/true, errors);
  if (job.status) to_json(read_status(*job.status));
  if (!errors.empty() || job.total_replicas() > kMostReplicas) return;
  make_objects(job);
  const json whole = with_defaults(job);
  if (job.name.empty()) return;  // one to be generated
  const TfJob again = read_tf_job(whole, /*strict=*/true, errors);
  demand(errors.empty() && with_defaults(again) == whole);
}

void run(std::string_view text) {
  for (const Document& document : read_documents(text, "fuzz", kLimits)) {
    write_and_read(*document.json);
    place_of(document.places, "spec.tfReplicaSpecs[Worker].template.spec.containers[0].image");
    read_job(*document.json);
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {
      R"(apiVersion: kubeflow.org/v1beta1
kind: TFJob
metadata: {name: mnist}
spec:
  cleanPodPolicy: All
  tfReplicaSpecs:
    MASTER:
      replicas: 1
      template:
        spec:
          containers:
            - {image: i, name: tensorflow, ports: [{name: tfjob-port, containerPort: 7}]}
          restartPolicy: OnFailure
)",
      R"({"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"a","namespace":"b"},)"
      R"("spec":{"successPolicy":"50%","runPolicy":{"backoffLimit":3,"suspend":false},)"
      R"("tensorboard":{"logDir":"/l"},"tfReplicaSpecs":{"Worker":{"replicas":2,"template":)"
      R"({"spec":{"containers":[{"name":"tensorflow","image":"i","resources":{"limits":)"
      R"({"memory":"1Gi"}}}]}}}}},"status":{"conditions":[{"type":"Running","status":"True"}]}})",
      "a: &a [1, 0x1f, 010, 1.5, .inf, ~]\nb: {<<: {c: yes}, d: *a}\n---\n- \"\\x41\"\n- |\n  t\n",
      "? x\n: !!str 1\ny: 'it''s'\nz: >-\n  a\n  b\n",
  };
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    capstan::run({reinterpret_cast<const char*>(data), size});
  } catch (const capstan::Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
