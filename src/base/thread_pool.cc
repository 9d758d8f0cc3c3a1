#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>

#include "base/error.h"

namespace capstan {
namespace {

// Waking an idle core costs about as much, so polling longer cannot pay.
constexpr std::chrono::microseconds kPollTime{50};

// Polls, giving way to others, until ready() or the time is over; says whether it became ready.
template <class Ready>
bool poll(Ready ready) {
  if (ready()) return true;
  const auto end = std::chrono::steady_clock::now() + kPollTime;
  do {
    sched_yield();
    if (ready()) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

int kernel_threads(int workers_on_host) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::clamp(2 * cores / std::max(1, workers_on_host), 1, cores);
}

struct ThreadPool::Loop {
  FunctionRef<void(int64_t)> piece;
  const int64_t pieces;
  std::atomic<int64_t> next{0};
  std::atomic<int> inside{0};  // helpers at it; changed under mutex_
  std::atomic<bool> failed{false};
  std::exception_ptr error = nullptr;  // written by whoever set failed

  void run() {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
      try {
        piece(i);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        next.store(pieces, std::memory_order_relaxed);
      }
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  if (threads < 1) throw invalid_argument("a thread pool of {} threads: give 1 or more", threads);
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    epoch_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::parallel_for(int64_t pieces, FunctionRef<void(int64_t)> piece) {
  if (threads_ == 1 || pieces < 2 || busy_.exchange(true)) {
    for (int64_t i = 0; i < pieces; ++i) piece(i);
    return;
  }
  struct Free {
    std::atomic<bool>& busy;
    ~Free() { busy.store(false); }
  } free{busy_};
  start_helpers();
  Loop loop{.piece = piece, .pieces = pieces};
  share(loop);
  loop.run();
  close(loop);
  if (loop.failed) std::rethrow_exception(loop.error);
}

void ThreadPool::start_helpers() {
  try {
    while (static_cast<int>(helpers_.size()) < threads_ - 1)
      helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error& e) {
    throw resource_exhausted("cannot start thread {} of {} of a pool: {}; ask for fewer threads",
                             helpers_.size() + 2, threads_, e.what());
  }
}

void ThreadPool::share(Loop& loop) {
  bool asleep;
  {
    std::lock_guard lock(mutex_);
    loop_ = &loop;
    epoch_.fetch_add(1);
    asleep = sleeping_ > 0;
  }
  if (asleep) wake_.notify_all();
}

// After it no helper knows the loop any more.
void ThreadPool::close(Loop& loop) {
  {
    std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }
  if (!poll([&] { return loop.inside.load() == 0; })) {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return loop.inside.load() == 0; });
  }
  // The last helper may still hold the mutex that it left under.
  std::lock_guard lock(mutex_);
}

void ThreadPool::help() {
  uint64_t seen = 0;
  while (wait_for_loop(seen)) {
    while (Loop* loop = join_loop()) {
      loop->run();
      leave_loop(*loop);
    }
  }
}

bool ThreadPool::wait_for_loop(uint64_t& seen) {
  const auto changed = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  poll([&] { return changed() || rested_.load(std::memory_order_relaxed) == seen; });
  std::unique_lock lock(mutex_);
  ++sleeping_;
  wake_.wait(lock, changed);
  --sleeping_;
  // Under the lock: an end that came between would be taken for seen, and never waited for again.
  seen = epoch_.load();
  return !stop_;
}

ThreadPool::Loop* ThreadPool::join_loop() {
  std::lock_guard lock(mutex_);
  if (loop_ == nullptr || loop_->next.load() >= loop_->pieces) return nullptr;
  loop_->inside.fetch_add(1);
  return loop_;
}

void ThreadPool::leave_loop(Loop& loop) {
  std::lock_guard lock(mutex_);
  if (loop.inside.fetch_sub(1) == 1) left_.notify_all();
}

}  // namespace capstan
