#pragma once

// A platform whose tasks are pods. A task's pod and service have one name for the whole job, so
// that the server itself refuses a second one; which attempt a pod is stands in an annotation.
//
// What it lists is what the informers told, and what was asked for and is not seen yet.

#include <map>
#include <memory>
#include <set>
#include <string>

#include "jobs/k8s/job_pods.h"
#include "jobs/k8s/object_writer.h"
#include "jobs/k8s/operator_context.h"
#include "jobs/k8s/tf_job.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {

class PodPlatform final : public Platform {
 public:
  // All that is given outlives it; `pods` changes under it, and pods_changed() tells so.
  PodPlatform(const TfJob& job, const JobPods& pods, ObjectWriter& writer,
              OperatorContext& context);
  ~PodPlatform() override;

  void pods_changed();
  void pod_removed(const PodSeen& pod);
  void service_removed(const ServiceSeen& service);
  // Until then nothing is made: the job's secret has to be there first.
  void may_make(bool may);

  void watch(PlatformWatcher* watcher) override { watcher_ = watcher; }
  void start(const TaskSpec& spec, int attempt) override;
  void stop(const TaskId& task, StopHow how) override;
  std::vector<TaskStatus> list() const override;
  // `kubectl logs` has them.
  std::vector<std::string> last_lines(const TaskId&) const override { return {}; }
  // The job's owner decides what stays.
  void clean_up() override {}

 private:
  // An attempt that was asked for and is not seen.
  struct Wanted {
    int attempt = 0;
    std::string uid;  // once it was made
    double since = 0;
    bool stopped = false;
    std::optional<Error> error;
  };

  // kMade: and not seen yet. kRefused: asking again would only be refused again.
  enum class Service { kNeeded, kMade, kSeen, kRefused };

  void advance(const TaskId& task);
  void make(const TaskId& task, Wanted& wanted);
  void made(const TaskId& task, int attempt, const MakeAnswer& answer);
  void look_for_unseen(const TaskId& task, const std::string& uid);
  void make_services();
  void make_service(const TaskId& task);
  void watch_the_time(const PodSeen& pod);
  void be_due(const PodSeen& pod);
  void drop(const TaskId& task);
  void tell();
  void at(double time, std::function<void()> what);

  const ReplicaSpec* replica(const TaskId& task) const;
  std::string name_of(const TaskId& task) const;
  const PodSeen* pod_of_task(const TaskId& task) const;
  TaskStatus wanted_status(const TaskId& task, const Wanted& wanted) const;
  TaskStatus seen_status(const PodSeen& pod) const;

  const TfJob& job_;
  const JobPods& pods_;
  ObjectWriter& writer_;
  OperatorContext& context_;
  PlatformWatcher* watcher_ = nullptr;
  bool may_make_ = false;
  std::map<TaskId, Wanted> wanted_;
  std::map<TaskId, TaskStatus> gone_;    // the last of those that ended and were removed
  std::set<std::string> stopped_;        // uids of those that we were told to stop
  std::map<std::string, double> timed_;  // uid to the moment that a timer is set for
  std::map<std::string, std::string>
      timed_out_;  // uid of a pod that never ran to what is said of it
  std::map<TaskId, Service> services_;
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
