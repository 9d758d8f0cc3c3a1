#pragma once

// Which of several operators acts: whoever holds a Lease. Clocks of other machines are never
// compared with ours: a holder is dead when its Lease has not changed for its duration by the
// loop's clock.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "jobs/k8s/kube_api.h"
#include "jobs/k8s/kube_time.h"

namespace capstan::jobs::k8s {

struct LeaseOptions {
  ObjectName lease;
  std::string identity;  // one per process
  // Seconds. Others take over when we have been silent for `duration`; we give up after `give_up`
  // of not having renewed, hence before.
  int duration = 3;
  double give_up = 2, retry = 0.5;
};

// Told from inside the loop.
class LeaseHolder {
 public:
  virtual ~LeaseHolder() = default;
  virtual void leads() = 0;
  // Must stop acting at once: somebody else may lead from now on. It goes on trying by itself.
  virtual void leads_no_more(const Error& why) = 0;
  // Somebody else leads, told once per leader; empty: nobody does.
  virtual void follows(const std::string& identity) = 0;
  // The Lease cannot be read or written, told once per breakdown.
  virtual void troubled(const Error& error) = 0;
};

class LeaderElection {
 public:
  LeaderElection(KubeApi& api, Loop& loop, Random& random, LeaseOptions options,
                 LeaseHolder& holder, WallClock clock = wall_time);
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  void start();
  // False as soon as others may lead, even if this thread was held up until now.
  bool leads() const;
  // Gives the Lease back, so that others need not wait; `done` is called in any case, after at most
  // `give_up`. leads_no_more is not told.
  void release(std::function<void()> done);

 private:
  struct Seen;
  using Then = void (LeaderElection::*)(const ApiAnswer&, Deadline asked);

  void call(ApiCall call, Then then);
  void look();
  void found(const ApiAnswer& answer, Deadline asked);
  void see(const nlohmann::json& lease);
  void create();
  void update();
  void put(nlohmann::json lease, Then then);
  void wrote(const ApiAnswer& answer, Deadline asked);
  void guard();
  void lose(const Error& why);
  void follow(const std::string& identity);
  void trouble(const Error& error);
  void again(double delay);
  double jittered(double seconds);
  void give_back();
  void gave_back(const ApiAnswer& answer, Deadline asked);
  void end_release();

  KubeApi& api_;
  Loop& loop_;
  Random& random_;
  const LeaseOptions options_;
  LeaseHolder& holder_;
  WallClock clock_;
  std::unique_ptr<Seen> seen_;
  std::optional<std::string> told_;  // whom we said that we follow
  std::optional<Error> last_error_;
  bool leads_ = false, troubled_ = false, calling_ = false;
  bool must_look_ = true;  // what we have seen is not what is there
  Deadline renewed_{};     // when the request that renewed it was sent
  Loop::TimerId timer_ = 0, guard_ = 0;
  std::function<void()> released_;
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
