#pragma once

// Where no control group limits a task's memory: looks once a second at what a process and what it
// started hold. Anonymous and shared memory count, files do not: the system may drop them.

#include <cstdint>
#include <functional>
#include <map>

#include "base/loop.h"

namespace capstan::jobs {

class MemoryWatch {
 public:
  using Over = std::function<void(int64_t had)>;

  explicit MemoryWatch(Loop& loop) : loop_(loop) {}
  ~MemoryWatch() { loop_.cancel(timer_); }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // `over` is called once, when it has more than `limit` bytes.
  void add(int process, int64_t limit, Over over);
  void forget(int process) { watched_.erase(process); }

 private:
  struct Watched {
    int64_t limit = 0;
    Over over;
  };
  void look();
  void look_again();

  Loop& loop_;
  std::map<int, Watched> watched_;
  Loop::TimerId timer_ = 0;
  bool timed_ = false;
};

}  // namespace capstan::jobs
