#pragma once

// Threads for steps that wait: as many as there are steps under way, and none when all is quiet.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace capstan {

class StepThreads {
 public:
  StepThreads() = default;
  ~StepThreads();  // as finish()

  // Runs it at once, on a thread that has nothing to do or on a new one.
  void post(std::function<void()> task);
  // Waits until everything posted has run and the threads are gone. Not from one of these threads.
  void finish();

 private:
  void serve();
  void leave(std::unique_lock<std::mutex> lock);

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  size_t idle_ = 0;
  bool finishing_ = false;
  std::map<std::thread::id, std::thread> threads_;
  std::thread left_;  // the last that left: joined by the next to leave, or by finish()
};

}  // namespace capstan
