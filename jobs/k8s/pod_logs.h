#pragma once

// What the replicas of a job printed, from the servers that have it: all there is now, or on and on
// until the job has ended.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_spec.h"
#include "jobs/k8s/cluster_client.h"
#include "jobs/k8s/job_watch.h"

namespace capstan::jobs::k8s {

using OnTaskLine = std::function<void(const TaskId& task, std::string_view line)>;

struct LogChoice {
  std::string task;  // "worker/0"; empty: all
  int tail = -1;     // only so many lines of each, the last ones; -1: all
};

// One after another, in the order of `pods`. What cannot be had of one is said, and the others are
// read; what nobody may read is thrown. Returns how many pods have a log.
int read_logs(ClusterClient& client, const std::vector<nlohmann::json>& pods,
              const LogChoice& choice, const OnTaskLine& on_line);

// All at once, as they come. Pods that come later are heard too, and so are containers that start
// again within theirs.
class LogFollow {
 public:
  LogFollow(ClusterClient& client, JobWatch& watch, LogChoice choice, OnTaskLine on_line);
  ~LogFollow();

  // Whatever has ended has been read to its end. Of replicas that go on when their job has ended,
  // as servers may, a moment's worth is waited for.
  bool quiet() const;

 private:
  struct Stream;

  void look();
  void open(Stream& stream);
  void close(Stream& stream, const std::optional<Error>& error);

  ClusterClient& client_;
  JobWatch& watch_;
  const LogChoice choice_;
  const OnTaskLine on_line_;
  std::map<std::pair<std::string, int>, std::unique_ptr<Stream>> streams_;  // by uid and restarts
  Deadline over_{};  // when it was seen that the job has ended
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
