#pragma once

// What a job shows, on its way to whoever reads it. A reader that does not read holds nobody up:
// what it has not taken stays here, and above a bound whoever makes the text is told to pause.

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/poll_loop.h"

namespace capstan::jobs {

// On the loop's thread. The callbacks are called from inside write() and flush(), too.
class OutputQueue {
 public:
  explicit OutputQueue(PollLoop& loop) : loop_(loop) {}
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  // Nobody reads any more; what comes is dropped.
  void on_gone(std::function<void()> gone) { gone_ = std::move(gone); }
  // More waits than should, or no longer.
  void on_full(std::function<void(bool full)> full) { on_full_ = std::move(full); }
  bool full() const { return full_; }

  // In the order of the calls, whatever the descriptors. Never waits; -1 takes nothing.
  void write(int fd, std::string_view text);
  // Waits for the reader until all is written. Gives up, and drops the rest, when `interrupt` (-1:
  // nothing) is readable, or when nothing was taken for as long as `patience`.
  void flush(int interrupt, std::optional<std::chrono::milliseconds> patience);

 private:
  struct Part {
    int fd = -1;
    std::string text;
    size_t done = 0;
  };

  void drain();
  bool write_some();
  void watch_the_first();
  void tell_fullness();
  void drop();

  PollLoop& loop_;
  std::function<void()> gone_;
  std::function<void(bool)> on_full_;
  std::deque<Part> parts_;
  size_t waiting_ = 0;  // bytes
  int watched_ = -1;
  bool full_ = false, deaf_ = false;
};

}  // namespace capstan::jobs
