#include "base/poster.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace capstan {

struct Poster::Inbox {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::function<void()>> tasks;
  bool stop = false;

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      arrived.wait(lock, [&] { return stop || !tasks.empty(); });
      if (tasks.empty()) return;
      std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }
};

Poster::Poster() : inbox_(std::make_shared<Inbox>()) {}

Poster::~Poster() {
  {
    std::lock_guard lock(inbox_->mutex);
    inbox_->stop = true;
  }
  inbox_->arrived.notify_all();
  if (!thread_.joinable()) return;
  // The last holder of a session may be a task that runs here.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Poster::post(std::function<void()> task) {
  std::lock_guard lock(inbox_->mutex);
  inbox_->tasks.push_back(std::move(task));
  if (!thread_.joinable()) thread_ = std::thread([inbox = inbox_] { inbox->serve(); });
  inbox_->arrived.notify_one();
}

}  // namespace capstan
