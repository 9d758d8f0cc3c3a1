#pragma once

// For tests: a cluster in memory, as commands see it.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/k8s/cluster_client.h"
#include "jobs/k8s/cluster_jobs.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/memory_api.h"
#include "jobs/k8s/test_jobs.h"

namespace capstan::jobs::k8s {

class ClusterPlay : public testing::Test {
 protected:
  using json = nlohmann::json;

  // A job of namespace ml, as the server has it then.
  json make(const std::vector<std::pair<std::string, int>>& replicas,
            const json& spec = json::object()) {
    json object = job_json(replicas, spec);
    object["metadata"].erase("uid");
    call(Verb::kCreate, kTfJobs, "", object);
    return job();
  }
  // Without waiting: also from inside the loop.
  json job() {
    const ApiAnswer answer = api.now({.resource = kTfJobs, .object = {"ml", "mnist"}});
    return answer.ok() ? *answer.body : json();
  }
  void patch_job(const json& patch) { call(Verb::kMergePatch, kTfJobs, "mnist", patch); }
  void set_phase(const char* type, const char* message = "") {
    const json condition = {
        {"type", type}, {"status", "True"}, {"reason", "TFJob"}, {"message", message}};
    call(Verb::kMergePatch, kTfJobs, "mnist",
         {{"status", {{"conditions", json::array({condition})}}}}, "status");
  }

  // The pod of a replica, in a state: {{"running", {{"startedAt", time}}}}.
  std::string pod(ReplicaType type, int index, const json& state, const char* phase) {
    const TfJob seen = seen_tf_job(job());
    const json object = pod_of(seen, *seen.replica(type), index, 1);
    const std::string name = object["metadata"]["name"];
    call(Verb::kCreate, kPods, "", object);
    set_pod(name, state, phase);
    return name;
  }
  std::string running(ReplicaType type, int index) {
    return pod(type, index, {{"running", {{"startedAt", kTime}}}}, "Running");
  }
  void set_pod(const std::string& name, const json& state, const char* phase) {
    json status = {{"phase", phase}};
    if (!state.is_null()) {
      status["containerStatuses"] = {
          {{"name", "tensorflow"}, {"restartCount", 0}, {"state", state}}};
    }
    call(Verb::kMergePatch, kPods, name, {{"status", status}}, "status");
  }
  void end_pod(const std::string& name, int code) {
    const json end = {{"exitCode", code}, {"startedAt", kTime}, {"finishedAt", kLater}};
    set_pod(name, {{"terminated", end}}, code == 0 ? "Succeeded" : "Failed");
    api.end_log({"ml", name});
  }
  void print(const std::string& name, const std::string& text) {
    api.append_log({"ml", name}, text);
  }

  void call(Verb verb, Resource resource, const std::string& name, const json& body,
            std::string_view subresource = {}) {
    ApiCall one{.verb = verb, .resource = resource, .object = {"ml", name}};
    one.subresource = subresource;
    one.body = std::make_shared<const json>(body);
    const ApiAnswer answer = api.now(std::move(one));
    ASSERT_TRUE(answer.ok()) << answer.error->what();
  }

  static constexpr const char* kTime = "2026-11-18T01:00:00Z";
  static constexpr const char* kLater = "2026-11-18T01:00:30Z";

  PollLoop loop;
  MemoryApi api{loop};
  std::vector<std::string> notes;
  ClusterClient client{loop, api, [this](std::string_view text) { notes.emplace_back(text); }};
};

}  // namespace capstan::jobs::k8s
