#pragma once

// How long a waiter polls, yielding the core, before it sleeps. Waking an idle core costs about 50
// µs, so that much always pays. Where waits have lately been over within 500 µs, sleeping in them
// would cost a good part of each, so it is as patient as that; every longer wait halves it again.

#include <algorithm>
#include <chrono>

namespace capstan {

class Patience {
 public:
  using Duration = std::chrono::steady_clock::duration;
  static constexpr std::chrono::microseconds kLeast{50};
  static constexpr std::chrono::microseconds kMost{500};

  Duration limit() const { return limit_; }

  // What was waited for came after so long.
  void waited(Duration time) {
    limit_ = time <= kMost ? Duration(kMost) : std::max(Duration(kLeast), limit_ / 2);
  }

 private:
  Duration limit_ = kLeast;
};

}  // namespace capstan
