#pragma once

// One task of a local job: its process, its log, and what it told us over its channel.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/launcher.h"
#include "jobs/local/held_port.h"
#include "jobs/local/process.h"
#include "jobs/local/task_event.h"
#include "jobs/local/task_log.h"

namespace capstan::jobs {

// Seconds of CLOCK_MONOTONIC, which tasks use as well when they tell of an error.
double monotonic_seconds();

class LocalTask {
 public:
  LocalTask(TaskId id, const std::string& log_path, JobObserver& observer);

  // `env` lacks the numbers of its descriptors; `secret` is one of them (base/secret_fd.h).
  void start(std::vector<std::string> argv, std::vector<std::string> env, int secret);

  // Reads what is there without waiting.
  void read_output();
  void read_channel();
  // The process has ended: reads the rest, reaps, and fills the report but for its state.
  void finish();

  // SIGTERM first; SIGKILL once `grace` seconds have passed since.
  void ask_to_stop(double now, double grace);

  Role role() const { return role_; }
  bool running() const { return process_ != nullptr; }
  bool asked_to_stop() const { return asked_at_.has_value(); }
  // Does nothing but serve others, as it told us.
  bool only_serves() const { return serves_; }
  // "chief", or nothing.
  const std::string& waits_for() const { return waits_for_; }
  // Its part of the training has ended: it has, or it told us so.
  bool has_trained() const { return trained_ || !running(); }
  // When it failed, as it told us itself, else when it ended.
  double failure_time() const;
  std::vector<std::string> last_lines() const { return log_.last_lines(); }
  int wait_fd() const { return process_->wait_fd(); }
  int output_fd() const { return output_.get(); }
  int channel_fd() const { return channel_.get(); }

  TaskReport report;
  HeldPort held;

 private:
  void on_line(std::string_view line);
  void on_event(std::string_view line);
  void show_progress();

  Role role_;
  JobObserver& observer_;
  TaskLog log_;
  std::unique_ptr<Process> process_;
  Fd output_, channel_;
  Progress progress_;
  bool steps_over_channel_ = false, loss_over_channel_ = false;
  std::optional<TaskError> error_;
  std::optional<double> asked_at_;
  bool killed_ = false, serves_ = false, trained_ = false;
  double started_ = 0, ended_ = 0;
  std::string waits_for_;
};

}  // namespace capstan::jobs
