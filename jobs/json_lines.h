#pragma once

// Shows a job to a program: one JSON object per line (`capstan run --json`), each with the time in
// seconds since 1970.

#include <functional>
#include <string_view>

#include "jobs/report.h"

namespace capstan::jobs {

class JsonObject;

class JsonLines : public JobObserver {
 public:
  using Sink = std::function<void(std::string_view line)>;
  // While `busy` holds steps are left out: newer ones come.
  explicit JsonLines(Sink sink, std::function<bool()> busy = {})
      : sink_(std::move(sink)), busy_(std::move(busy)) {}

  void started(const TaskReport& task) override;
  void log(const TaskId& task, std::string_view line) override;
  void progress(const TaskId& task, const Progress& progress) override;
  void ended(const TaskReport& task) override;
  void note(std::string_view text) override;
  void restarts(const TaskReport& task, double delay) override;

  void finish(const JobReport& report);

 private:
  void put(JsonObject& json);

  Sink sink_;
  std::function<bool()> busy_;
};

}  // namespace capstan::jobs
