#pragma once

// What a job has beside its replicas: its secret, TensorBoard, a NetworkPolicy, a PodGroup.

#include <functional>
#include <memory>
#include <string>

#include "jobs/k8s/job_pods.h"
#include "jobs/k8s/object_writer.h"
#include "jobs/k8s/operator_context.h"
#include "jobs/k8s/tf_job.h"

namespace capstan::jobs::k8s {

class ExtrasMaker {
 public:
  // All that is given outlives it. `ready`: pods may be made.
  ExtrasMaker(const TfJob& job, const JobPods& pods, ObjectWriter& writer, OperatorContext& context,
              std::function<void()> ready);
  ~ExtrasMaker();

  void start();
  // A pod or service of the job is gone: TensorBoard's come back.
  void removed(const std::string& name);
  // After `pods` has changed: the group is there, another, or gone.
  void group_changed();

 private:
  void make_board();
  void made(const MakeAnswer& answer);
  bool has_gang() const { return !context_.cluster.gang_scheduler.empty(); }
  void make_group();
  void keep_group();
  void change_group(const nlohmann::json& patch);

  const TfJob& job_;
  const JobPods& pods_;
  ObjectWriter& writer_;
  OperatorContext& context_;
  const std::function<void()> ready_;
  int awaited_ = 0;
  bool grouped_ = false;  // its scheduler lets the pods come
  JsonRef asked_;         // how the group was last asked to be
  std::shared_ptr<bool> alive_;
};

// The kind of group that the scheduler of this name has.
Resource pod_groups(std::string_view gang_scheduler);

}  // namespace capstan::jobs::k8s
