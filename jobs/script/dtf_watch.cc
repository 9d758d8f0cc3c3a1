#include "jobs/script/dtf_watch.h"

#include <fmt/format.h>

#include "jobs/text_table.h"

namespace capstan::script {
namespace {

constexpr double kSaveInterval = 1, kShowInterval = 0.1;  // seconds

}  // namespace

DtfWatch::DtfWatch(Session& session, TrainingInfo& info,
                   std::function<void(const TrainingInfo&)> save)
    : session_(session),
      info_(info),
      save_(std::move(save)),
      prefix_(fmt::format("[owner] [{}] [groupId] [{}] ", session.owner, info.run())) {}

double DtfWatch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void DtfWatch::started(const jobs::TaskReport& task) {
  ++live_tasks_;
  live_workers_ += task.task.job == "worker";
}

void DtfWatch::leave(const jobs::TaskId& task) {
  --live_tasks_;
  live_workers_ -= task.job == "worker";
}

void DtfWatch::log(const jobs::TaskId& task, std::string_view line) {
  session_.listener.log(fmt::format("{}[{}] {}", prefix_, task.name(), line));
}

void DtfWatch::progress(const jobs::TaskId&, const jobs::Progress& progress) {
  const double now = seconds();
  info_.add(progress, now, live_workers_);
  last_step_ = std::max(last_step_, progress.last_step);
  if (saved_ == 0 || now - saved_ >= kSaveInterval) {
    saved_ = now;
    save_(info_);
  }
  if (now - shown_ < kShowInterval) return;
  shown_ = now;
  const TrainingPoint& last = info_.last();
  session_.listener.progress(
      jobs::progress_text({last.step, last.loss, last_step_}, last.steps_per_second, live_tasks_));
}

void DtfWatch::ended(const jobs::TaskReport& task) {
  leave(task.task);
  if (task.state != jobs::TaskState::kFailed) return;
  note(fmt::format("{} failed: {}", task.task.name(), jobs::end_text(task)));
}

void DtfWatch::restarts(const jobs::TaskReport& task, double delay) {
  leave(task.task);
  note(fmt::format("{} failed ({}); attempt {} in {}", task.task.name(), task.attempts.back().why,
                   task.attempt, jobs::duration_text(delay)));
}

void DtfWatch::note(std::string_view text) { session_.listener.note(text); }

}  // namespace capstan::script
