#pragma once

// Listens to a training job: its lines with owner, group and task to whoever listens to the script,
// its progress into the training's record.

#include <chrono>
#include <functional>
#include <string>

#include "jobs/report.h"
#include "jobs/script/session.h"
#include "jobs/script/training_info.h"

namespace capstan::script {

class DtfWatch : public jobs::JobObserver {
 public:
  // `save` is called now and then while there is progress, with the record so far.
  DtfWatch(Session& session, TrainingInfo& info, std::function<void(const TrainingInfo&)> save);

  void started(const jobs::TaskReport& task) override;
  void log(const jobs::TaskId& task, std::string_view line) override;
  void progress(const jobs::TaskId& task, const jobs::Progress& progress) override;
  void ended(const jobs::TaskReport& task) override;
  void restarts(const jobs::TaskReport& task, double delay) override;
  void note(std::string_view text) override;

  double seconds() const;  // since this was made

 private:
  void leave(const jobs::TaskId& task);

  Session& session_;
  TrainingInfo& info_;
  const std::function<void(const TrainingInfo&)> save_;
  const std::string prefix_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int live_tasks_ = 0, live_workers_ = 0;
  int64_t last_step_ = 0;
  double saved_ = 0, shown_ = 0;
};

}  // namespace capstan::script
