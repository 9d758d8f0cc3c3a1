#pragma once

// What a task tells its launcher: step, loss, port, that it only serves, whom it waits for, end and
// first error, as JSON lines over the inherited end of a socket pair (CAPSTAN_TASK_FD). Without a
// launcher every call does nothing.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace capstan {

// Thread-safe. Never blocks and never throws: an event that does not fit into the socket's buffer
// is dropped. Step events are sent at most ten times a second; the last one goes out with end().
class TaskChannel {
 public:
  // Seconds between two step events.
  static constexpr double kStepInterval = 0.1;

  // Takes over `fd`, if it is a Unix socket; -1 or anything else makes a channel that is silent.
  explicit TaskChannel(int fd = -1);
  ~TaskChannel();
  TaskChannel(const TaskChannel&) = delete;
  TaskChannel& operator=(const TaskChannel&) = delete;

  bool connected() const { return fd_ >= 0; }

  // `last_step` is where training will stop, or 0 if nobody knows.
  void step(int64_t step, std::optional<double> loss = std::nullopt, int64_t last_step = 0);
  void port(uint16_t port);
  // From now on the task only serves; `trained`: it has done its part of the training before.
  void serves(bool trained);
  // Whom the task needs to go on, as "chief"; empty: nobody any more.
  void waits(std::string_view whom);
  // Only the first error of a task is sent.
  void error(const Error& error);
  void error(std::string_view code, std::string_view message);
  void end();

 private:
  void send(std::string line);
  void send_pending_step();

  const int fd_;
  std::mutex mutex_;
  double last_sent_ = -1;
  std::string pending_step_;
  bool error_sent_ = false;
};

// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

}  // namespace capstan
