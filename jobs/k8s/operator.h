#pragma once

// Runs every TFJob that the API server has: hears of jobs, pods and services, and keeps a JobRunner
// for each job. It acts from start() until it is destroyed, and leaves everything to whoever comes
// next: pods go on.

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobs/k8s/informer.h"
#include "jobs/k8s/job_pods.h"
#include "jobs/k8s/job_runner.h"
#include "jobs/k8s/operator_context.h"

namespace capstan::jobs::k8s {

struct OperatorOptions {
  std::string space;  // empty: all namespaces
  ClusterOptions cluster;
  OperatorTimes times;
  EventOptions events;
  InformerOptions informer;  // times and pages
};

class Operator {
 public:
  // `note` is told, in a line, what an administrator wants to know.
  Operator(KubeApi& api, Loop& loop, Random& random, OperatorOptions options,
           std::function<void(std::string_view)> note = {}, WallClock clock = k8s::wall_time);
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  void start();
  bool synced() const;
  size_t jobs() const { return runners_.size(); }
  // Everything that was to be told has been.
  bool idle() const { return events_.idle(); }

 private:
  class Sink;

  void job_changed(nlohmann::json&& object);
  void job_removed(const ObjectName& name, std::string_view uid);
  void pod_changed(const nlohmann::json& object);
  void pod_removed(const ObjectName& name, std::string_view uid);
  void service_changed(const nlohmann::json& object);
  void service_removed(const ObjectName& name, std::string_view uid);
  void group_changed(const nlohmann::json& object);
  void group_removed(const ObjectName& name, std::string_view uid);
  void begin_when_all_is_known();
  void drop_if_empty(const std::string& owner);
  JobRunner* runner_of(const std::string& uid);
  void note(std::string_view text);

  const OperatorOptions options_;
  const std::function<void(std::string_view)> note_;
  EventRecorder events_;
  OperatorContext context_;
  // By the uid of the job. A pod may be heard of before its job, and outlive it.
  std::map<std::string, JobPods, std::less<>> pods_;
  std::map<ObjectName, std::string> pod_owners_, service_owners_, group_owners_;
  std::map<ObjectName, std::unique_ptr<JobRunner>> runners_;
  std::map<std::string, JobRunner*, std::less<>> by_uid_;
  std::vector<nlohmann::json> early_;  // jobs that were heard of before all pods were known
  bool begun_ = false;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::vector<std::unique_ptr<Informer>> informers_;
};

}  // namespace capstan::jobs::k8s
