#pragma once

// What every part of the operator is handed: the API, the loop, the clocks, whom to tell.

#include <cmath>

#include "base/loop.h"
#include "base/random.h"
#include "jobs/k8s/events.h"
#include "jobs/k8s/job_objects.h"
#include "jobs/k8s/kube_api.h"
#include "jobs/k8s/kube_time.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {

// Between the wall clock, which stands in objects, and the loop's, by which things are waited for.
class KubeClock {
 public:
  KubeClock(Loop& loop, WallClock wall) : loop_(loop), wall_(std::move(wall)) { compare(); }

  double wall() const { return wall_(); }
  double loop() const { return seconds_of(loop_.now()); }
  // The same moment always gives the same answer, unless the wall clock jumps.
  double loop_time(double wall) const {
    compare();
    return wall + ahead_;
  }
  double wall_time(double loop) const {
    compare();
    return loop - ahead_;
  }

 private:
  static constexpr double kJump = 1.0;
  void compare() const {
    const double ahead = loop() - wall_();
    if (std::abs(ahead - ahead_) > kJump) ahead_ = ahead;
  }

  Loop& loop_;
  WallClock wall_;
  mutable double ahead_ = -1e18;
};

// Seconds.
struct OperatorTimes {
  double stuck = 10;   // that a pod may outstay its grace before it is removed by force
  double unseen = 30;  // after which a pod that was made and is not seen is asked for
  // At most so long after a server is well again everything goes on.
  BackoffOptions retry = {.first = 0.1, .most = 4};
};

struct OperatorContext {
  KubeApi& api;
  Loop& loop;
  Random& random;
  EventRecorder& events;
  KubeClock clock;
  ClusterOptions cluster = {};
  OperatorTimes times = {};
};

// Who hears what is done for one job.
class JobVoice {
 public:
  virtual ~JobVoice() = default;
  virtual void say(EventType type, std::string_view reason, std::string_view message) = 0;
};

}  // namespace capstan::jobs::k8s
