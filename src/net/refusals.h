#pragma once

// Tells of connections that were refused, without becoming a flood itself: the first at once, then
// at most one line per period, which says how many there were.

#include <chrono>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/loop.h"

namespace capstan {

// Loop thread only; outlived by the loop.
class Refusals {
 public:
  using Tell = std::function<void(const Error&)>;
  Refusals(Loop& loop, Tell tell, std::chrono::milliseconds period)
      : loop_(loop), tell_(std::move(tell)), period_(period) {}
  ~Refusals() { loop_.cancel(timer_); }
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  void add(const Error& why);

 private:
  void begin_period();
  void end_period();

  Loop& loop_;
  const Tell tell_;
  const std::chrono::milliseconds period_;
  Loop::TimerId timer_ = 0;
  bool quiet_ = false;  // one was told of in this period
  size_t untold_ = 0;
  std::optional<Error> last_;  // of these
};

}  // namespace capstan
