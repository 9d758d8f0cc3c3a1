#include "session/step_threads.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace capstan {

// Shared with the threads: the last one may still be on its way out when the rest is gone.
struct StepThreads::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  size_t idle = 0, threads = 0;
  bool finishing = false;
};

StepThreads::StepThreads() : state_(std::make_shared<State>()) {}
StepThreads::~StepThreads() { finish(); }

void StepThreads::post(std::function<void()> task) {
  std::lock_guard lock(state_->mutex);
  state_->tasks.push_back(std::move(task));
  if (state_->tasks.size() <= state_->idle) return state_->changed.notify_all();
  try {
    std::thread([state = state_] { serve(state); }).detach();
  } catch (const std::system_error& e) {
    state_->tasks.pop_back();
    throw resource_exhausted("cannot start a thread for a client's step: {}", e.what());
  }
  ++state_->threads;  // it waits for the lock
}

void StepThreads::serve(const std::shared_ptr<State>& state) {
  constexpr std::chrono::seconds kPatience{1};
  std::unique_lock lock(state->mutex);
  for (;;) {
    ++state->idle;
    state->changed.wait_for(lock, kPatience,
                            [&] { return !state->tasks.empty() || state->finishing; });
    --state->idle;
    if (state->tasks.empty()) break;
    std::function<void()> task = std::move(state->tasks.front());
    state->tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
  --state->threads;
  state->changed.notify_all();
}

void StepThreads::finish() {
  std::unique_lock lock(state_->mutex);
  state_->finishing = true;
  state_->changed.notify_all();
  state_->changed.wait(lock, [&] { return state_->threads == 0; });
}

}  // namespace capstan
