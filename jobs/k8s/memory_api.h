#pragma once

// The Kubernetes API in this process, for tests: versions, conflicts, status apart from spec,
// selectors, watches, graceful deletion and owners behave as the server's do. tests/k8s plays one
// suite against this and against a real server. Faults happen as planned.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "jobs/k8s/kube_api.h"
#include "jobs/k8s/kube_time.h"

namespace capstan::jobs::k8s {

class MemoryStore;

// What happens to the next `times` calls that match, in the order of the plan.
struct Fault {
  std::function<bool(const ApiCall&)> matches = {};  // none: all
  int times = 1;
  int code = 500;  // of the answer; 0: not reached; 200: the true answer
  // The call is done, and at once; only its answer is late or lost.
  bool takes_effect = false;
  double delay = 0;  // seconds until the answer, and until what it does
  double retry_after = 0;
};

class MemoryApi final : public KubeApi {
 public:
  explicit MemoryApi(Loop& loop, WallClock clock = wall_time);
  ~MemoryApi() override;

  void call(ApiCall call, OnAnswer done) override;
  std::unique_ptr<Watch> watch(Resource resource, std::string space, std::string query,
                               WatchSink& sink) override;
  std::unique_ptr<Watch> read_log(ObjectName pod, std::string query,
                                  LogFollower& follower) override;

  // For tests. The first is a call that is done at once, without faults.
  ApiAnswer now(ApiCall call);
  void plan(Fault fault);
  // Watches end as if the connection had broken, or with `code`; while `refused` no new one opens.
  void break_watches(int code = 0);
  void refuse_watches(bool refused);
  // Events reach watches that much later, in their order.
  void delay_watches(double seconds);
  void send_bookmarks();
  // Versions before now can no longer be watched from, nor can lists be continued: 410.
  void compact();
  // Deletes whatever has owners of which none is left, until nothing changes. The real
  // server's controller manager does so by itself.
  void collect_garbage();
  // A pod's log; followers hear of its lines, and of its end.
  void append_log(const ObjectName& pod, std::string_view text);
  void end_log(const ObjectName& pod);

  // Every call that has arrived, those that failed too: "create pods a/b",
  // "update tfjobs.kubeflow.org/status a/b", "watch pods in all namespaces".
  const std::vector<std::string>& history() const { return history_; }
  void clear_history() { history_.clear(); }
  size_t watches() const;
  // Of one kind, in the order of their names.
  std::vector<nlohmann::json> objects(const Resource& resource) const;

 private:
  struct Log {
    std::string text;
    bool ended = false;
  };
  struct Seat;
  struct Reader;
  class Handle;

  ApiAnswer answer(const ApiCall& call, const std::optional<Fault>& fault);
  ApiAnswer log_of(const ApiCall& call) const;
  std::optional<Fault> next_fault(const ApiCall& call);
  void after(double seconds, std::function<void()> task);
  void spread_later();
  void spread(uint64_t until);
  void close(const std::shared_ptr<Seat>& seat, std::optional<Error> error, int code);
  void send_lines(const ObjectName& pod);
  void begin(const std::shared_ptr<Seat>& seat, const std::string& query);

  Loop& loop_;
  std::unique_ptr<MemoryStore> store_;
  std::vector<Fault> faults_;
  std::vector<std::shared_ptr<Seat>> seats_;
  std::vector<std::shared_ptr<Reader>> readers_;
  std::map<ObjectName, Log> logs_;
  std::vector<std::string> history_;
  bool refuse_watches_ = false;
  double watch_delay_ = 0;
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
