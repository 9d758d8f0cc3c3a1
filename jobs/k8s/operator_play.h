#pragma once

// For tests: an operator over the API in memory, a clock that moves when told, and pods that do as
// told.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/fake_platform.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/memory_api.h"
#include "jobs/k8s/operator.h"

namespace capstan::jobs::k8s {

// {"Worker", 2}, with what the replica has beside its pods.
struct Replicas {
  std::string type;
  int count = 1;
  std::string restart = {};
  nlohmann::json more = nlohmann::json::object();
};

inline nlohmann::json job_json(const std::string& name, const std::vector<Replicas>& all,
                               const nlohmann::json& policy = nlohmann::json::object(),
                               const nlohmann::json& spec = nlohmann::json::object()) {
  using nlohmann::json;
  json job = {{"apiVersion", "kubeflow.org/v1"},
              {"kind", "TFJob"},
              {"metadata", {{"name", name}, {"namespace", "default"}}},
              {"spec", spec}};
  if (!policy.empty()) job["spec"]["runPolicy"] = policy;
  for (const Replicas& one : all) {
    json replica = {
        {"replicas", one.count},
        {"template",
         {{"spec",
           {{"containers", json::array({{{"name", "tensorflow"}, {"image", "image"}}})}}}}}};
    if (!one.restart.empty()) replica["restartPolicy"] = one.restart;
    replica.update(one.more);
    job["spec"]["tfReplicaSpecs"][one.type] = std::move(replica);
  }
  return job;
}

class OperatorPlay {
 public:
  using json = nlohmann::json;

  explicit OperatorPlay(OperatorOptions options = {}) : options_(std::move(options)) { begin(); }

  void begin() {
    op_ = std::make_unique<Operator>(
        api, loop, random_, options_, [this](std::string_view text) { notes.emplace_back(text); },
        [this] { return wall(); });
    op_->start();
    settle();
  }
  // As if it had been killed.
  void end() { op_.reset(); }
  void replace() {
    end();
    begin();
  }
  // Killed and followed by another at whatever happens.
  bool replaces = false;

  double wall() const { return 1.8e9 + loop.seconds(); }
  void advance(double seconds) {
    loop.advance(seconds);
    settle();
  }
  // All that follows without time passing, but for the API's own.
  void settle() { loop.advance(0.05); }

  void create(const json& job) {
    call(Verb::kCreate, kTfJobs, "", job);
    after();
  }
  void update(const std::string& name, const json& patch) {
    call(Verb::kMergePatch, kTfJobs, name, patch);
    after();
  }
  void remove_job(const std::string& name) {
    call(Verb::kDelete, kTfJobs, name, {});
    settle();
    api.collect_garbage();
    after();
  }

  json job(const std::string& name) { return get(kTfJobs, name); }
  json get(Resource resource, const std::string& name) {
    ApiCall one{.verb = Verb::kGet, .resource = resource, .object = {"default", name}};
    const ApiAnswer answer = api.now(std::move(one));
    return answer.ok() ? *answer.body : json();
  }
  std::vector<std::string> names(Resource resource) const {
    std::vector<std::string> all;
    for (const json& one : api.objects(resource)) all.push_back(one["metadata"]["name"]);
    return all;
  }
  std::vector<std::string> pods() const { return names(kPods); }
  std::string uid(const std::string& pod) { return get(kPods, pod)["metadata"].value("uid", ""); }

  // "Created, Running, Succeeded"; those that do not hold are left out.
  std::string conditions(const std::string& name) {
    const json object = job(name);
    std::string out;
    for (const json& one : list_at(at(object, "status"), "conditions")) {
      if (one.at("status") != "True") continue;
      out += (out.empty() ? "" : ", ") + one.at("type").get<std::string>();
    }
    return out;
  }
  std::string all_conditions(const std::string& name) {
    const json object = job(name);
    std::string out;
    for (const json& one : list_at(at(object, "status"), "conditions")) {
      const char* mark = one.at("status") == "True" ? "" : "!";
      out += (out.empty() ? "" : ", ") + (mark + one.at("type").get<std::string>());
    }
    return out;
  }
  json replicas(const std::string& name, const std::string& type) {
    const json object = job(name);
    return at(object, "status", "replicaStatuses", type);
  }
  bool has_event(std::string_view reason, std::string_view text = {}) const {
    return std::ranges::any_of(api.objects(kEvents), [&](const json& event) {
      return event.at("reason") == reason &&
             event.at("message").get<std::string>().find(text) != std::string::npos;
    });
  }

  // How often the server was asked to make one.
  std::ptrdiff_t creations(const std::string& plural) const {
    return std::ranges::count_if(api.history(), [&](const std::string& call) {
      return call.starts_with("create " + plural + " ");
    });
  }

  // What a kubelet does.
  void bind(const std::string& pod) {
    json body = {{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", {{"name", pod}}},
                 {"target", {{"kind", "Node"}, {"name", "node"}}}};
    call(Verb::kCreate, kPods, pod, body, "binding");
  }
  void run(const std::string& pod) {
    bind(pod);
    set_status(pod, {{"phase", "Running"},
                     {"containerStatuses", json::array({container({{"running", started()}})})}});
  }
  void end_pod(const std::string& pod, int code, const std::string& reason = {}) {
    json end = {{"exitCode", code}, {"startedAt", now()}, {"finishedAt", now()}};
    end["reason"] = !reason.empty() ? reason : code == 0 ? "Completed" : "Error";
    set_status(pod, {{"phase", code == 0 ? "Succeeded" : "Failed"},
                     {"containerStatuses", json::array({container({{"terminated", end}})})}});
  }
  void restart_in_place(const std::string& pod, int times) {
    json one = container({{"running", started()}});
    one["restartCount"] = times;
    set_status(pod, {{"phase", "Running"}, {"containerStatuses", json::array({one})}});
  }
  void set_status(const std::string& pod, const json& status) {
    call(Verb::kMergePatch, kPods, pod, {{"status", status}}, "status");
    after();
  }
  void remove_pod(const std::string& pod, bool at_once = true) {
    json body = json::object();
    if (at_once) body["gracePeriodSeconds"] = 0;
    call(Verb::kDelete, kPods, pod, body);
    after();
  }
  void run_all() {
    for (const std::string& pod : pods()) {
      if (get(kPods, pod).at("status").value("phase", "") == "Pending") run(pod);
    }
  }
  // Kubelets let go whatever is to go.
  void finish_deletions() {
    for (const json& pod : api.objects(kPods)) {
      if (pod.at("metadata").contains("deletionTimestamp")) remove_pod(pod["metadata"]["name"]);
    }
  }

  json now() const { return kube_time(wall()); }
  json started() const { return {{"startedAt", now()}}; }
  static json container(const json& state) {
    return {{"name", "tensorflow"}, {"restartCount", 0}, {"state", state}};
  }

  ApiAnswer call(Verb verb, Resource resource, const std::string& name, const json& body,
                 std::string_view subresource = {}) {
    ApiCall one{.verb = verb, .resource = resource, .object = {"default", name}};
    one.subresource = subresource;
    if (!body.is_null()) one.body = std::make_shared<const json>(body);
    ApiAnswer answer = api.now(std::move(one));
    EXPECT_TRUE(answer.ok()) << answer.error->what();
    return answer;
  }

  FakeLoop loop;
  MemoryApi api{loop, [this] { return wall(); }};
  std::vector<std::string> notes;

 private:
  void after() {
    if (replaces) end();
    if (replaces) begin();
    settle();
  }

  OperatorOptions options_;
  SeededRandom random_{1};
  std::unique_ptr<Operator> op_;
};

}  // namespace capstan::jobs::k8s
