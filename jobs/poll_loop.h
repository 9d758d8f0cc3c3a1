#pragma once

// The loop of whoever watches a job: one thread that sleeps in poll() until a descriptor, a timer
// or another thread has something.

#include <poll.h>

#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/function_ref.h"
#include "base/loop.h"

namespace capstan::jobs {

class PollLoop final : public Loop {
 public:
  PollLoop();  // Throws ResourceExhausted.

  Deadline now() const override { return std::chrono::steady_clock::now(); }
  void post(Task task) override;
  TimerId at(Deadline when, Task task) override;
  void cancel(TimerId timer) override;
  bool on_loop_thread() const override { return std::this_thread::get_id() == thread_; }

  // The next three on the loop's thread. `ready` is called while the descriptor has any of
  // `events`, has ended or is broken. One watch for a descriptor, to be ended before it is closed.
  void watch(int fd, Task ready, short events = POLLIN);
  void unwatch(int fd);
  // Returns once `done` holds, which is asked after each round.
  void run_until(FunctionRef<bool()> done);

 private:
  struct Watch {
    uint64_t id = 0;
    short events = 0;
    Task ready;
  };

  void run_posted();
  void run_timers();
  void wait();
  int milliseconds_to_the_first_timer();

  std::thread::id thread_ = std::this_thread::get_id();
  Fd wake_;
  std::map<int, Watch> watches_;
  uint64_t next_watch_ = 1;
  std::mutex mutex_;  // guards what follows
  std::vector<Task> posted_;
  std::map<std::pair<Deadline, TimerId>, Task> timers_;
  TimerId next_timer_ = 1;
};

}  // namespace capstan::jobs
