#include "jobs/recorder.h"

#include <filesystem>

#include "base/error.h"
#include "jobs/platform.h"

namespace capstan::jobs {
namespace {

// Between two writings that nobody waits for.
constexpr auto kInterval = std::chrono::seconds(1);

// Who reads the record may be in another folder.
std::string whole_path(const std::string& path) {
  std::error_code error;
  return path.empty() ? "" : std::filesystem::absolute(path, error).string();
}

}  // namespace

Recorder::Recorder(JobShelf& shelf, Loop& loop, JobRecord record, Say say)
    : shelf_(shelf), loop_(loop), record_(std::move(record)), say_(std::move(say)) {
  record_.log_dir = whole_path(record_.log_dir);
}

Recorder::~Recorder() { loop_.cancel(timer_); }

void Recorder::progress(const TaskId& id, const Progress& progress) {
  for (TaskReport& task : record_.state.tasks) {
    if (task.task == id) task.progress = progress;
  }
  const double now = seconds_of(loop_.now());
  rates_.add(id, now, progress.step);
  add_point(record_.curve, {now - record_.state.started, progress.step, progress.loss});
  write_soon();
}

void Recorder::begin(const JobState& state) {
  if (record_.detached) save(state);
}

void Recorder::save(const JobState& state) {
  record_.state = state;
  if (state.done()) return;  // finish() is next
  // Nobody goes on with a job that dies with its controller: a record of a second ago will do.
  const bool first = !std::exchange(begun_, true);
  first || record_.detached ? write() : write_soon();
}

void Recorder::write_soon() {
  if (std::exchange(timed_, true)) return;
  timer_ = loop_.at(loop_.now() + kInterval, [this] {
    timed_ = false;
    write();
    // Until it is seen that nothing more comes.
    if (record_.steps_per_second > 0) write_soon();
  });
}

void Recorder::finish(const JobState& state, const JobReport& report) {
  loop_.cancel(timer_);
  record_.state = state;
  record_.exit_code = report.exit_code;
  record_.reason = report.reason;
  if (report.cause) record_.cause = report.tasks[*report.cause].task.name();
  record_.last_lines = report.last_lines;
  record_.log_dir = whole_path(report.log_dir);
  write();
}

void Recorder::write() {
  const double now = seconds_of(loop_.now());
  record_.steps_per_second = rates_.fastest(now);
  for (TaskReport& task : record_.state.tasks) task.steps_per_second = rates_.of(task.task, now);
  try {
    shelf_.write(record_);
    lost_ = false;
  } catch (const Error& error) {
    if (std::exchange(lost_, true)) return;
    say_(fmt::format("the record of this job cannot be written, and the job goes on without: {}",
                     error.message()));
  }
}

}  // namespace capstan::jobs
