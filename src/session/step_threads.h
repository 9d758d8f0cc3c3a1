#pragma once

// Threads for steps that wait: as many as there are steps under way, and none when all is quiet.

#include <functional>
#include <memory>

namespace capstan {

class StepThreads {
 public:
  StepThreads();
  ~StepThreads();  // as finish()

  // Runs it at once, on a thread that has nothing to do or on a new one.
  void post(std::function<void()> task);
  // Waits until everything posted has run. Not from one of these threads.
  void finish();

 private:
  struct State;
  static void serve(const std::shared_ptr<State>& state);
  const std::shared_ptr<State> state_;
};

}  // namespace capstan
