#include "base/poster.h"

namespace capstan {

Poster::~Poster() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  arrived_.notify_all();
  if (!thread_.joinable()) return;
  // The last holder of a session may be a task that runs here.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Poster::post(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  arrived_.notify_one();
}

void Poster::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace capstan
