#pragma once

// The loop of a server: one thread, epoll. After something happened it polls, yielding the core,
// for a while (net/poll_limit.h) before it sleeps: waking an idle core costs more than most calls.
// Idle, it sleeps.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "net/poll_limit.h"

namespace capstan {

class EpollLoop final : public Loop {
 public:
  // Something with a descriptor. All calls come from the loop's thread; none may throw.
  class Source {
   public:
    virtual ~Source() = default;
    virtual void on_event(uint32_t events) = 0;
    // Polled after touch() until the loop sleeps; true when something was done.
    virtual bool poll() { return false; }
    // The polling ends and the source will only be told what its descriptor shows. False when
    // there is something to do first.
    virtual bool rest() { return true; }
  };

  EpollLoop();
  ~EpollLoop() override;

  Deadline now() const override { return std::chrono::steady_clock::now(); }
  void post(Task task) override;
  TimerId at(Deadline when, Task task) override;
  void cancel(TimerId timer) override;
  bool on_loop_thread() const override { return std::this_thread::get_id() == thread_.load(); }

  // On the loop's thread, or while it does not run.
  void add(int fd, uint32_t events, Source* source);
  void modify(int fd, uint32_t events, Source* source);
  void remove(int fd, Source* source);  // -1: the descriptor is closed already
  // The source had something to do: more may follow soon.
  void touch(Source* source);

  void run();
  void stop();  // any thread

 private:
  bool run_posted();
  bool run_timers();
  bool poll_hot();
  bool poll_epoll(int timeout_ms);
  void sleep();
  int sleep_ms();
  void wake();

  const Fd epoll_, wake_;
  std::atomic<std::thread::id> thread_;
  std::atomic<bool> stopped_{false}, sleeping_{false}, has_posted_{false};

  std::mutex mutex_;  // guards the next four
  std::vector<Task> posted_;
  std::map<std::pair<Deadline, TimerId>, Task> timers_;
  std::map<TimerId, Deadline> timer_times_;
  TimerId next_timer_ = 1;
  std::atomic<int64_t> first_timer_;  // in the clock's ticks

  std::vector<Source*> hot_;
  std::vector<std::pair<Source*, uint32_t>> ready_;
  unsigned rounds_ = 0;
  PollLimit patience_;
};

}  // namespace capstan
