#pragma once

// Growing delays between attempts, with jitter, so that many clients of a server that comes back do
// not call at one moment.

#include <algorithm>

#include "base/random.h"

namespace capstan::jobs::k8s {

// Seconds.
struct BackoffOptions {
  double first = 0.1, most = 2;
};

class Backoff {
 public:
  Backoff(Random& random, BackoffOptions options) : random_(random), options_(options) {}
  // Between half of the step and the whole of it; at least what the server asked for.
  double next(double retry_after = 0) {
    const double whole = step_;
    step_ = std::min(options_.most, step_ * 2);
    const double part = double(random_.u64() >> 11) * 0x1p-53;
    return std::max(retry_after, whole / 2 * (1 + part));
  }
  void reset() { step_ = options_.first; }

 private:
  Random& random_;
  BackoffOptions options_;
  double step_ = options_.first;
};

}  // namespace capstan::jobs::k8s
