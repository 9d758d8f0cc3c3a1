#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "jobs/report.h"

namespace capstan::jobs {

// Tells several of what happens, in their order.
class Observers : public JobObserver {
 public:
  explicit Observers(std::vector<JobObserver*> all) : all_(std::move(all)) {}
  void started(const TaskReport& task) override { tell(&JobObserver::started, task); }
  void log(const TaskId& task, std::string_view line) override {
    for (JobObserver* one : all_) one->log(task, line);
  }
  void progress(const TaskId& task, const Progress& progress) override {
    for (JobObserver* one : all_) one->progress(task, progress);
  }
  void ended(const TaskReport& task) override { tell(&JobObserver::ended, task); }
  void restarts(const TaskReport& task, double delay) override {
    for (JobObserver* one : all_) one->restarts(task, delay);
  }
  void note(std::string_view text) override {
    for (JobObserver* one : all_) one->note(text);
  }

 private:
  void tell(void (JobObserver::*what)(const TaskReport&), const TaskReport& task) {
    for (JobObserver* one : all_) (one->*what)(task);
  }

  const std::vector<JobObserver*> all_;
};

}  // namespace capstan::jobs
