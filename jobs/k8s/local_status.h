#pragma once

// The status that a TFJob has while it runs as local processes: the conditions that the operator
// would write.

#include <functional>
#include <string_view>

#include "jobs/k8s/tf_job_status.h"
#include "jobs/report.h"

namespace capstan::jobs::k8s {

class LocalStatus : public JobObserver {
 public:
  // `clock` gives seconds since 1970. `job` lives longer than this.
  LocalStatus(const TfJob& job, std::function<double()> clock);

  void started(const TaskReport& task) override;
  void restarts(const TaskReport& task, double delay) override;
  void log(const TaskId&, std::string_view) override {}
  void progress(const TaskId&, const Progress&) override {}
  void ended(const TaskReport&) override {}
  void note(std::string_view) override {}

  // Nothing more happens.
  void finish(const JobReport& report);

  const TfJobStatus& status() const { return status_; }

 private:
  const TfJob& job_;
  const std::function<double()> clock_;
  TfJobStatus status_;
};

// A table of conditions and replicas, for people.
std::string status_table(const TfJobStatus& status);

}  // namespace capstan::jobs::k8s
