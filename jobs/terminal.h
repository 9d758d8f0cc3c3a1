#pragma once

// Shows a job to a person: every task's lines with a prefix, a live line on a terminal, plain
// lines in a pipe, and at the end the cause of a failure and the table.

#include <map>
#include <string>
#include <string_view>

#include "jobs/output_queue.h"
#include "jobs/report.h"
#include "jobs/step_rate.h"

namespace capstan::jobs {

struct TerminalOptions {
  int out = 1;
  int err = 2;
  bool live = false;    // redraw a status line at the bottom
  bool colour = false;  // of the prefixes
  bool quiet = false;   // what tasks print, and how far they are, is not shown
};

// Of a terminal; 80 where the descriptor is none.
size_t columns(int fd);

// "[worker/0] ", in the task's own colour where there are colours.
class TaskPrefixes {
 public:
  explicit TaskPrefixes(bool colour) : colour_(colour) {}
  // A task has its colour from the first time on.
  std::string of(const TaskId& task);

 private:
  const bool colour_;
  std::map<TaskId, int> colours_;
};

class Terminal : public JobObserver {
 public:
  Terminal(TerminalOptions options, OutputQueue& output)
      : options_(options), output_(output), prefixes_(options.colour) {}

  void started(const TaskReport& task) override;
  void log(const TaskId& task, std::string_view line) override;
  void progress(const TaskId& task, const Progress& progress) override;
  void ended(const TaskReport& task) override;
  void note(std::string_view text) override;
  void restarts(const TaskReport& task, double delay) override;

  // To be called a few times a second.
  void tick();

  void finish(const JobReport& report);
  std::string status() const;  // progress_text()

 private:
  void show(std::string_view prefix, std::string_view line);
  void write(int fd, std::string_view text) { output_.write(fd, text); }
  void clear_live_line();

  const TerminalOptions options_;
  OutputQueue& output_;
  TaskPrefixes prefixes_;
  int live_tasks_ = 0;
  std::map<TaskId, int64_t> steps_;
  Progress progress_;  // its step is the furthest of all
  StepRates rates_;
  double last_drawn_ = 0;
  bool drawn_ = false;
};

}  // namespace capstan::jobs
