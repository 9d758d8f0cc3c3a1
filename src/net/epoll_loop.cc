#include "net/epoll_loop.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "net/socket.h"

namespace capstan {
namespace {

// More sources than this are not polled one by one: the oldest rest.
constexpr size_t kMaxHot = 16;
// Hot sources are asked directly; how often the others are looked at meanwhile.
constexpr unsigned kEpollEvery = 8;
constexpr int kMaxEvents = 64;
constexpr int64_t kNoTimer = INT64_MAX;

int64_t ticks(Deadline when) { return when.time_since_epoch().count(); }

}  // namespace

EpollLoop::EpollLoop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      first_timer_(kNoTimer) {
  if (!epoll_ || !wake_) throw resource_exhausted("cannot make a loop: {}", errno_text(errno));
  add(wake_.get(), EPOLLIN, nullptr);
}

EpollLoop::~EpollLoop() = default;

void EpollLoop::wake() {
  uint64_t one = 1;
  // Can only fail when the counter is full, and then the loop is awake.
  (void)!::write(wake_.get(), &one, sizeof one);
}

void EpollLoop::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
  }
  has_posted_.store(true);
  if (sleeping_.load()) wake();
}

Loop::TimerId EpollLoop::at(Deadline when, Task task) {
  TimerId id = 0;
  {
    std::lock_guard lock(mutex_);
    id = next_timer_++;
    timers_.emplace(std::pair(when, id), std::move(task));
    timer_times_.emplace(id, when);
    first_timer_.store(ticks(timers_.begin()->first.first));
  }
  if (sleeping_.load()) wake();
  return id;
}

void EpollLoop::cancel(TimerId timer) {
  Task dropped;  // destroyed outside of the lock
  std::lock_guard lock(mutex_);
  auto when = timer_times_.find(timer);
  if (when == timer_times_.end()) return;
  auto found = timers_.find({when->second, timer});
  dropped = std::move(found->second);
  timers_.erase(found);
  timer_times_.erase(when);
  first_timer_.store(timers_.empty() ? kNoTimer : ticks(timers_.begin()->first.first));
}

void EpollLoop::add(int fd, uint32_t events, Source* source) {
  epoll_event event = {.events = events, .data = {.ptr = source}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw resource_exhausted("cannot watch descriptor {}: {}", fd, errno_text(errno));
  }
}

void EpollLoop::modify(int fd, uint32_t events, Source* source) {
  epoll_event event = {.events = events, .data = {.ptr = source}};
  CAPSTAN_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EpollLoop::remove(int fd, Source* source) {
  if (fd >= 0) CAPSTAN_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) == 0);
  std::erase(hot_, source);
  for (auto& event : ready_) {
    if (event.first == source) event.first = nullptr;
  }
}

void EpollLoop::touch(Source* source) {
  if (std::ranges::find(hot_, source) != hot_.end()) return;
  if (hot_.size() >= kMaxHot) {
    Source* oldest = hot_.front();
    hot_.erase(hot_.begin());
    if (!oldest->rest()) hot_.push_back(oldest);
  }
  hot_.push_back(source);
}

bool EpollLoop::run_posted() {
  if (!has_posted_.load(std::memory_order_relaxed)) return false;
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(posted_);
    has_posted_.store(false);
  }
  for (Task& task : tasks) task();
  return true;
}

bool EpollLoop::run_timers() {
  if (first_timer_.load(std::memory_order_relaxed) > ticks(now())) return false;
  Task task;
  {
    std::lock_guard lock(mutex_);
    if (timers_.empty()) return false;
    auto first = timers_.begin();
    task = std::move(first->second);
    timer_times_.erase(first->first.second);
    timers_.erase(first);
    first_timer_.store(timers_.empty() ? kNoTimer : ticks(timers_.begin()->first.first));
  }
  task();
  return true;
}

bool EpollLoop::poll_hot() {
  bool worked = false;
  // By index: a source may be added or removed while one is polled.
  for (size_t i = 0; i < hot_.size(); ++i) worked |= hot_[i]->poll();
  return worked;
}

bool EpollLoop::poll_epoll(int timeout_ms) {
  epoll_event events[kMaxEvents];
  int n = ::epoll_wait(epoll_.get(), events, kMaxEvents, timeout_ms);
  if (n <= 0) return false;
  ready_.clear();
  for (int i = 0; i < n; ++i) {
    auto* source = static_cast<Source*>(events[i].data.ptr);
    if (source) {
      ready_.emplace_back(source, uint32_t(events[i].events));
    } else {
      uint64_t count = 0;
      (void)!::read(wake_.get(), &count, sizeof count);
    }
  }
  for (size_t i = 0; i < ready_.size(); ++i) {
    if (ready_[i].first) ready_[i].first->on_event(ready_[i].second);
  }
  ready_.clear();
  return true;
}

int EpollLoop::sleep_ms() {
  int64_t first = first_timer_.load();
  if (first == kNoTimer) return -1;
  auto left = Deadline(Deadline::duration(first)) - now();
  auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return int(std::clamp<int64_t>(ms, 0, 3600 * 1000));
}

void EpollLoop::sleep() {
  while (!hot_.empty()) {
    Source* source = hot_.back();
    hot_.pop_back();
    if (!source->rest()) {
      touch(source);
      return;
    }
  }
  sleeping_.store(true);
  // A post that did not see us asleep has set its flag before we look at it.
  bool busy = has_posted_.load() || stopped_.load();
  poll_epoll(busy ? 0 : sleep_ms());
  sleeping_.store(false);
}

void EpollLoop::run() {
  thread_.store(std::this_thread::get_id());
  Deadline last = now();
  bool waited = false;
  while (!stopped_.load(std::memory_order_relaxed)) {
    bool worked = run_posted();
    worked |= run_timers();
    worked |= poll_hot();
    if (hot_.empty() || ++rounds_ % kEpollEvery == 0) worked |= poll_epoll(0);
    if (worked) {
      const Deadline then = std::exchange(last, now());
      if (std::exchange(waited, false)) patience_.waited(last - then);
    } else if (now() - last < patience_.limit()) {
      waited = true;
      ::sched_yield();
    } else {
      sleep();
      const Deadline then = std::exchange(last, now());
      patience_.waited(last - then);
      waited = false;
    }
  }
  run_posted();
}

void EpollLoop::stop() {
  stopped_.store(true);
  wake();
}

}  // namespace capstan
