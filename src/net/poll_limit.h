#pragma once

// How long a waiter polls, yielding the core, before it sleeps. Waking an idle core costs about 50
// µs, so that much always pays. Where most waits are over within 500 µs, sleeping in them would
// cost a good part of each: every such wait doubles the patience, up to that; every longer one
// halves it.

#include <algorithm>
#include <chrono>

namespace capstan {

class PollLimit {
 public:
  using Duration = std::chrono::steady_clock::duration;
  static constexpr std::chrono::microseconds kLeast{50};
  static constexpr std::chrono::microseconds kMost{500};

  Duration limit() const { return limit_; }

  // What was waited for came after so long.
  void waited(Duration time) {
    limit_ = std::clamp<Duration>(time <= kMost ? 2 * limit_ : limit_ / 2, kLeast, kMost);
  }

 private:
  Duration limit_ = kLeast;
};

}  // namespace capstan
