#include "jobs/watched_job.h"

#include <signal.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace capstan::jobs {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(200);

std::vector<JobObserver*> pointers(JobObserver& observer, std::optional<Recorder>& recorder) {
  std::vector<JobObserver*> all = {&observer};
  if (recorder) all.push_back(&*recorder);
  return all;
}

std::optional<Recorder> make_recorder(JobShelf* shelf, const JobRecord& record, Loop& loop,
                                      JobObserver& observer) {
  if (!shelf) return std::nullopt;
  return std::optional<Recorder>(std::in_place, *shelf, loop, record,
                                 [&](std::string_view text) { observer.note(text); });
}

}  // namespace

JobRecord new_record(const JobSpec& spec, std::string id) {
  JobRecord record{.id = std::move(id), .name = spec.name};
  std::error_code error;
  if (record.name.empty()) record.name = std::filesystem::path(spec.program.path).stem();
  record.command = spec.program.args;
  record.command.insert(record.command.begin(), spec.program.path);
  record.host = host_name();
  record.cwd = std::filesystem::current_path(error);
  record.created = ::time(nullptr);
  record.controller = ::getpid();
  return record;
}

WatchedJob::WatchedJob(JobShelf* shelf, const JobRecord& record, const JobSpec& spec,
                       const Cluster& cluster, Platform& platform, Loop& loop,
                       JobObserver& observer, ControllerOptions options)
    : shelf_(shelf),
      id_(record.id),
      loop_(loop),
      recorder_(make_recorder(shelf, record, loop, observer)),
      observers_(pointers(observer, recorder_)),
      controller_(spec, cluster, platform, loop, observers_, record.state, options) {
  if (recorder_) controller_.on_change([this] { recorder_->save(controller_.state()); });
}

WatchedJob::~WatchedJob() { loop_.cancel(timer_); }

void WatchedJob::start() {
  if (recorder_) recorder_->begin(controller_.state());
  controller_.start();
  if (shelf_) look_for_a_stop();
}

void WatchedJob::look_for_a_stop() {
  if (is_asked_to_stop()) {
    return controller_.stop("stopped by capstan stop", kExitSignalBase + SIGTERM);
  }
  timer_ = loop_.at(loop_.now() + kLookInterval, [this] { look_for_a_stop(); });
}

// Whatever became of the folder, training goes on.
bool WatchedJob::is_asked_to_stop() {
  try {
    return shelf_->asked_to_stop(id_);
  } catch (const Error& error) {
    if (!std::exchange(said_, true)) {
      observers_.note("capstan stop cannot reach this job: " + error.message());
    }
    return false;
  }
}

void WatchedJob::finish(const JobReport& report) {
  if (recorder_) recorder_->finish(controller_.state(), report);
}

}  // namespace capstan::jobs
