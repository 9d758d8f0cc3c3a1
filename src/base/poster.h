#pragma once

// A thread that runs what it is given, in order; started with the first thing it gets.

#include <functional>
#include <memory>
#include <thread>

namespace capstan {

class Poster {
 public:
  Poster();
  // Runs what was posted before and waits for it; except in a task of its own, which ends by
  // itself.
  ~Poster();
  void post(std::function<void()> task);

 private:
  struct Inbox;
  std::shared_ptr<Inbox>
      inbox_;  // the thread holds it too: a task may destroy the poster that runs it
  std::thread thread_;
};

}  // namespace capstan
