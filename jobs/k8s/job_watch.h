#pragma once

// One TFJob and the pods of its replicas as they are now, for commands that wait for something.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "jobs/k8s/cluster_client.h"
#include "jobs/k8s/informer.h"
#include "jobs/k8s/pod_seen.h"
#include "jobs/k8s/tf_job.h"

namespace capstan::jobs::k8s {

class JobWatch {
 public:
  enum class Pods { kWatched, kNot };

  // This very job: another one of its name is none. Watching pods needs rights to do so.
  JobWatch(ClusterClient& client, const nlohmann::json& job, Pods pods);
  ~JobWatch();

  // What there was at some moment is known.
  bool synced() const;
  // Null: it is gone.
  const JsonRef& job() const { return job_; }
  // By uid.
  const std::map<std::string, PodSeen>& pods() const { return pods_; }

  // Told after each change, from inside the loop.
  std::function<void()> changed;

  // Waits until `done` holds, or for `seconds` (0: for ever); returns whether it does. Throws what
  // the server refuses for good, as a right that is missing; what may pass is said and waited for.
  bool wait(FunctionRef<bool()> done, double seconds, const std::function<std::string()>& what);

 private:
  class Jobs;
  class ItsPods;

  void hear_trouble(const Error& error);
  void told() const {
    if (changed) changed();
  }

  ClusterClient& client_;
  const std::string uid_;
  JsonRef job_;
  std::map<std::string, PodSeen> pods_;
  std::optional<Error> refused_;
  SystemRandom random_;
  std::unique_ptr<InformerSink> job_sink_, pod_sink_;
  std::unique_ptr<Informer> job_informer_, pod_informer_;
};

}  // namespace capstan::jobs::k8s
