#include "jobs/local/local_job.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "jobs/random_hex.h"

namespace capstan::jobs {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);

}  // namespace

LocalJob::LocalJob(JobSpec spec, LocalOptions options, JobObserver& observer)
    : options_(std::move(options)),
      logs_(options_.log_dir),
      platform_(loop_, spec,
                {.job_id = random_hex(kJobIdBytes),
                 .log_file = [this](const TaskId& task) { return logs_.file_for(task); }}),
      controller_(std::move(spec), platform_.cluster(), platform_, loop_, observer, {},
                  options_.controller) {}

JobReport LocalJob::run() {
  if (options_.signal_fd >= 0) loop_.watch(options_.signal_fd, [this] { read_signals(); });
  controller_.start();
  tick();
  loop_.run_until([&] { return controller_.done(); });
  JobReport report = controller_.report();
  if (report.start_error) throw *report.start_error;
  if (report.exit_code != 0 || !options_.log_dir.empty()) report.log_dir = logs_.keep();
  return report;
}

void LocalJob::stop() {
  loop_.post([this] { controller_.stop("stopped on request", kExitSignalBase + SIGTERM); });
}

void LocalJob::read_signals() {
  signalfd_siginfo info{};
  while (read(options_.signal_fd, &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    controller_.interrupt(signal == SIGINT ? "Ctrl-C" : strsignal(signal),
                          kExitSignalBase + signal);
  }
}

void LocalJob::tick() {
  if (!options_.tick) return;
  options_.tick();
  loop_.at(loop_.now() + kTick, [this] { tick(); });
}

}  // namespace capstan::jobs
