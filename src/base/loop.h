#pragma once

// The clock and the queue of a control plane that runs on one thread. Production runs it on epoll
// (net/epoll_loop.h); a simulator can run the same code on a clock of its own.

#include <chrono>
#include <cstdint>
#include <functional>

namespace capstan {

// A moment on the loop's clock: never the wall clock, which may jump.
using Deadline = std::chrono::steady_clock::time_point;
constexpr Deadline kNoDeadline = Deadline::max();

inline Deadline deadline_in(std::chrono::nanoseconds delay) {
  return std::chrono::steady_clock::now() + delay;
}

class Loop {
 public:
  using Task = std::function<void()>;
  using TimerId = uint64_t;

  virtual ~Loop() = default;
  virtual Deadline now() const = 0;
  // The next two may be called from any thread; tasks run on the loop's thread and must not throw.
  virtual void post(Task task) = 0;
  virtual TimerId at(Deadline when, Task task) = 0;
  // From the loop's thread a cancelled timer never fires; from another it may be firing now.
  virtual void cancel(TimerId timer) = 0;
  virtual bool on_loop_thread() const = 0;
};

}  // namespace capstan
