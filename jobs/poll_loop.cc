#include "jobs/poll_loop.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace capstan::jobs {

PollLoop::PollLoop() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw resource_exhausted("eventfd: {}", std::strerror(errno));
  watch(wake_.get(), [this] {
    uint64_t count = 0;
    (void)!read(wake_.get(), &count, sizeof count);
  });
}

void PollLoop::post(Task task) {
  std::lock_guard lock(mutex_);
  posted_.push_back(std::move(task));
  uint64_t one = 1;
  // Can only fail when the counter is full, and then the loop is awake.
  (void)!write(wake_.get(), &one, sizeof one);
}

Loop::TimerId PollLoop::at(Deadline when, Task task) {
  std::lock_guard lock(mutex_);
  const TimerId id = next_timer_++;
  timers_.emplace(std::pair(when, id), std::move(task));
  uint64_t one = 1;
  if (!on_loop_thread()) (void)!write(wake_.get(), &one, sizeof one);
  return id;
}

void PollLoop::cancel(TimerId timer) {
  Task dropped;  // destroyed outside of the lock
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find_if(timers_, [&](auto& t) { return t.first.second == timer; });
  if (found == timers_.end()) return;
  dropped = std::move(found->second);
  timers_.erase(found);
}

void PollLoop::watch(int fd, Task ready, short events) {
  watches_[fd] = {next_watch_++, events, std::move(ready)};
}

void PollLoop::unwatch(int fd) { watches_.erase(fd); }

void PollLoop::run_until(FunctionRef<bool()> done) {
  thread_ = std::this_thread::get_id();
  while (!done()) {
    wait();
    run_timers();
    run_posted();
  }
}

void PollLoop::run_posted() {
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) task();
}

void PollLoop::run_timers() {
  const Deadline until = now();
  for (;;) {
    Task task;
    {
      std::lock_guard lock(mutex_);
      if (timers_.empty() || timers_.begin()->first.first > until) return;
      task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    }
    task();
  }
}

int PollLoop::milliseconds_to_the_first_timer() {
  std::lock_guard lock(mutex_);
  if (!posted_.empty()) return 0;
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first.first - now();
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return int(std::clamp<int64_t>(ms, 0, 3600 * 1000));
}

void PollLoop::wait() {
  std::vector<pollfd> fds;
  std::vector<uint64_t> ids;
  for (const auto& [fd, watch] : watches_) {
    fds.push_back({fd, watch.events, 0});
    ids.push_back(watch.id);
  }
  if (poll(fds.data(), fds.size(), milliseconds_to_the_first_timer()) <= 0) return;
  for (size_t i = 0; i < fds.size(); ++i) {
    if (fds[i].revents == 0) continue;
    // What ran before may have ended this watch, or begun another on the same number.
    auto found = watches_.find(fds[i].fd);
    if (found == watches_.end() || found->second.id != ids[i]) continue;
    Task ready = found->second.ready;
    ready();
  }
}

}  // namespace capstan::jobs
