#pragma once

// One TFJob, from the first time that it is seen until it is gone: decides by its status and its
// spec what is to be done, and does it. While it lives a JobController decides over its pods; once
// its end stands in the status, what is left is cleaned, and it costs a timer at most.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_controller.h"
#include "jobs/k8s/clean_rules.h"
#include "jobs/k8s/job_extras_maker.h"
#include "jobs/k8s/job_pods.h"
#include "jobs/k8s/object_writer.h"
#include "jobs/k8s/operator_context.h"
#include "jobs/k8s/pod_platform.h"
#include "jobs/k8s/status_writer.h"
#include "jobs/k8s/tf_job.h"
#include "jobs/k8s/tf_job_status.h"

namespace capstan::jobs::k8s {

class JobRunner final : private JobVoice, private JobObserver {
 public:
  // `pods` is kept by whoever hears the informers, and outlives it.
  JobRunner(OperatorContext& context, const JobPods& pods, const nlohmann::json& object);
  ~JobRunner() override;

  const std::string& uid() const { return job_.uid; }
  void job_changed(const nlohmann::json& object);
  // After `pods` has changed.
  void pod_changed(const PodSeen& pod);
  void pod_removed(const PodSeen& pod);
  void service_removed(const ServiceSeen& service);
  void group_changed();

 private:
  // All that a job needs while it runs; the platform and the controller read its copy of the job.
  struct Live {
    Live(JobRunner& runner, TfJob job, JobState state);
    const TfJob job;
    PodPlatform platform;
    ExtrasMaker extras;
    JobController controller;
  };

  // Whoever else writes the status has the job; whether that is news.
  bool hear_of_others(const nlohmann::json& object);
  void read(const nlohmann::json& object);
  void soon();
  void look();
  void stop_living();
  void be_invalid();
  void be_suspended();
  void be_live();
  void begin();
  void conclude();
  void conclude_failure(const JobReport& report, const JobState& state);
  void be_finished();
  void clean(const Cleaning& cleaning);
  void remove_group();
  void remove_after_its_time();
  void shrink();
  void wake(Loop::TimerId& timer, double wall);
  void note_running();
  bool is_restarting() const;
  bool is_pending(const TaskReport& task) const;
  const PodSeen* pod_of(const TaskId& task) const;
  void tell_why_it_waits(const PodSeen& pod);
  void count();
  void save();
  std::string failure_message(const JobReport& report, const JobState& state) const;

  // JobVoice
  void say(EventType type, std::string_view reason, std::string_view message) override;
  // JobObserver
  void started(const TaskReport&) override {}
  void log(const TaskId&, std::string_view) override {}
  void progress(const TaskId&, const Progress&) override {}
  void ended(const TaskReport& task) override;
  void restarts(const TaskReport& task, double delay) override;
  void note(std::string_view) override {}

  OperatorContext& context_;
  const JobPods& pods_;
  TfJob job_;
  std::string other_;  // operator that has the job; empty: none
  std::vector<FieldError> errors_;
  TfJobStatus status_;  // ours is the truth; the server's follows
  ObjectWriter writer_;
  StatusWriter status_writer_;
  std::unique_ptr<Live> live_;
  bool scheduled_ = false, told_warnings_ = false;
  bool shrunk_ = false;  // of a job that has ended and is clean only its removal is left
  Loop::TimerId ttl_timer_ = 0, clean_timer_ = 0;
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
