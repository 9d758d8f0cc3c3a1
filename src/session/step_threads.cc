#include "session/step_threads.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace capstan {

StepThreads::~StepThreads() { finish(); }

void StepThreads::post(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (tasks_.size() <= idle_) return changed_.notify_all();
  try {
    std::thread thread([this] { serve(); });  // it waits for the lock
    const std::thread::id id = thread.get_id();
    threads_.emplace(id, std::move(thread));
  } catch (const std::system_error& e) {
    tasks_.pop_back();
    throw resource_exhausted("cannot start a thread for a client's step: {}", e.what());
  }
}

void StepThreads::serve() {
  constexpr std::chrono::seconds kPatience{1};
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait_for(lock, kPatience, [&] { return !tasks_.empty() || finishing_; });
    --idle_;
    if (tasks_.empty()) return leave(std::move(lock));
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

// Never detached: what libraries do when a thread ends must not run beside the process's own end.
void StepThreads::leave(std::unique_lock<std::mutex> lock) {
  std::thread self = std::move(threads_.extract(std::this_thread::get_id()).mapped());
  std::thread before = std::exchange(left_, std::move(self));
  changed_.notify_all();
  lock.unlock();  // nothing here is touched after this: finish() may return
  if (before.joinable()) before.join();
}

void StepThreads::finish() {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return threads_.empty(); });
  std::thread last = std::move(left_);
  lock.unlock();
  if (last.joinable()) last.join();
}

}  // namespace capstan
