#include "jobs/local/local_job.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "jobs/random_hex.h"

namespace capstan::jobs {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);

// What could not even be started leaves no trace: the message says it all.
bool never_began(const JobReport& report) {
  auto began = [](const TaskReport& task) { return task.pid != 0 || !task.attempts.empty(); };
  return report.start_error && std::ranges::none_of(report.tasks, began);
}

}  // namespace

LocalJob::LocalJob(PollLoop& loop, const JobSpec& spec, LocalOptions options, JobObserver& observer)
    : options_((check(spec), std::move(options))),  // before anything is made for it
      id_(spec.id.empty() ? random_hex(kJobIdBytes) : spec.id),
      loop_(loop),
      logs_(options_.log_dir, id_),
      platform_(
          loop_, spec,
          {.job_id = id_, .log_file = [this](const TaskId& task) { return logs_.file_for(task); }}),
      shelf_(users_shelf()),
      recorded_(take_place(observer)),
      job_(recorded_ ? &shelf_ : nullptr, record_of(spec), spec, platform_.cluster(), platform_,
           loop_, observer, options_.controller) {
  if (const std::string note = memory_note(spec); !note.empty()) observer.note(note);
  if (!options_.output) return;
  options_.output->on_full([this](bool full) { platform_.hold_output(full); });
  options_.output->on_gone([this] { stop(); });
}

LocalJob::~LocalJob() {
  if (options_.signal_fd >= 0) loop_.unwatch(options_.signal_fd);
  loop_.cancel(ticking_);
  if (!options_.output) return;
  options_.output->on_full(nullptr);
  options_.output->on_gone(nullptr);
}

// A job that cannot be remembered is run all the same.
bool LocalJob::take_place(JobObserver& observer) {
  try {
    alive_ = shelf_.create(id_);
    return true;
  } catch (const Error& error) {
    observer.note("this job has no record: " + error.message());
    return false;
  }
}

JobRecord LocalJob::record_of(const JobSpec& spec) const {
  JobRecord record = new_record(spec, id_);
  record.log_dir = logs_.path();
  return record;
}

JobReport LocalJob::run() {
  if (options_.signal_fd >= 0) loop_.watch(options_.signal_fd, [this] { read_signals(); });
  job_.start();
  tick();
  loop_.run_until([&] { return job_.done(); });
  JobReport report = job_.controller().report();
  if (report.exit_code != 0 || !options_.log_dir.empty()) report.log_dir = logs_.keep();
  leave(report);
  alive_.reset();  // whoever reads our last words may take their time
  if (never_began(report)) throw *report.start_error;
  return report;
}

void LocalJob::leave(const JobReport& report) {
  if (!recorded_) return;
  try {
    job_.finish(report);
    if (never_began(report)) shelf_.remove(id_);
    shelf_.prune();
  } catch (const Error&) {  // others remove what is too much
  }
}

void LocalJob::stop() {
  loop_.post([this] { job_.controller().stop("stopped on request", kExitSignalBase + SIGTERM); });
}

void LocalJob::read_signals() {
  signalfd_siginfo info{};
  while (read(options_.signal_fd, &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    job_.controller().interrupt(signal == SIGINT ? "Ctrl-C" : strsignal(signal),
                                kExitSignalBase + signal);
  }
}

void LocalJob::tick() {
  if (!options_.tick) return;
  options_.tick();
  ticking_ = loop_.at(loop_.now() + kTick, [this] { tick(); });
}

}  // namespace capstan::jobs
