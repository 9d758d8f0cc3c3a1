#include "jobs/local/detached_controller.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "jobs/local/local_platform.h"
#include "jobs/local/pipes.h"
#include "jobs/local/platform_link.h"
#include "jobs/terminal.h"
#include "jobs/watched_job.h"

namespace capstan::jobs {
namespace {

// What there is to say, where it can be kept.
Fd notes_file(const std::string& folder) {
  Fd file(open(join_path(folder, "capstan.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
               0600));
  return file ? std::move(file) : Fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

// What its predecessor wrote, or whoever began the job.
JobRecord newest(const JobShelf& shelf, const JobRecord& first) {
  JobRecord record = first;
  try {
    record = shelf.read(first.id);
  } catch (const Error&) {
  }
  record.controller = getpid();
  record.holder = first.holder;
  return record;
}

int decide(const JobSpec& spec, const Cluster& cluster, const JobRecord& first, Fd holder) {
  JobShelf shelf = users_shelf();
  const JobRecord record = newest(shelf, first);
  Fd notes = notes_file(record.log_dir);
  PollLoop loop;
  OutputQueue output(loop);
  Terminal terminal({.out = notes.get(), .err = notes.get(), .quiet = true}, output);
  WatchedJob* watched = nullptr;
  const std::string note = memory_note(spec);
  if (record.state.tasks.empty() && !note.empty()) terminal.note(note);
  RemotePlatform platform(loop, std::move(holder), [&] {
    if (watched) watched->controller().abandon("whoever held the tasks of this job was killed");
  });
  WatchedJob job(&shelf, record, spec, cluster, platform, loop, terminal);
  watched = &job;
  Fd signals = signals_as_fd({SIGTERM});
  loop.watch(signals.get(), [&] {
    signalfd_siginfo info{};
    if (read(signals.get(), &info, sizeof info) != sizeof info) return;
    job.controller().interrupt("SIGTERM", kExitSignalBase + SIGTERM);
  });
  job.start();
  loop.run_until([&] { return job.done(); });
  JobReport report = job.controller().report();
  report.log_dir = record.log_dir;
  terminal.finish(report);
  job.finish(report);
  try {
    shelf.prune();
  } catch (const Error&) {  // others remove what is too much
  }
  return 0;
}

}  // namespace

int run_detached_controller(const JobSpec& spec, const Cluster& cluster, const JobRecord& record,
                            Fd holder) {
  try {
    return decide(spec, cluster, record, std::move(holder));
  } catch (const std::exception& error) {
    const std::string text = fmt::format("capstan: {}\n", error.what());
    (void)!write(STDERR_FILENO, text.data(), text.size());
    return 1;
  }
}

}  // namespace capstan::jobs
