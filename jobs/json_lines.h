#pragma once

// Shows a job to a program: one JSON object per line (`capstan run --json`).

#include <functional>
#include <string_view>

#include "jobs/report.h"

namespace capstan::jobs {

class JsonLines : public JobObserver {
 public:
  using Sink = std::function<void(std::string_view line)>;
  explicit JsonLines(Sink sink) : sink_(std::move(sink)) {}

  void started(const TaskReport& task) override;
  void log(const TaskId& task, std::string_view line) override;
  void progress(const TaskId& task, const Progress& progress) override;
  void ended(const TaskReport& task) override;
  void note(std::string_view text) override;
  void restarts(const TaskReport& task, double delay) override;

  void finish(const JobReport& report);

 private:
  Sink sink_;
};

}  // namespace capstan::jobs
