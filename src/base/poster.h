#pragma once

// A thread that runs what it is given, in order; started with the first thing it gets.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace capstan {

class Poster {
 public:
  Poster() = default;
  ~Poster();
  void post(std::function<void()> task);

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace capstan
