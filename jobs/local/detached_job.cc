#include "jobs/local/detached_job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "jobs/job_shelf.h"
#include "jobs/local/job_holder.h"
#include "jobs/local/pipes.h"
#include "jobs/random_hex.h"
#include "jobs/watched_job.h"

namespace capstan::jobs {
namespace {

constexpr int kLookMilliseconds = 10;

// Nothing of the terminal is ours from now on.
void leave_the_terminal(const std::string& folder) {
  setsid();
  const std::string log = join_path(folder, "errors.log");
  const int null = open("/dev/null", O_RDWR);
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(errors >= 0 ? errors : null, STDERR_FILENO);
}

[[noreturn]] void hold(const JobSpec& spec, JobRecord record, const std::string& folder, Fd alive,
                       Fd started) {
  leave_the_terminal(folder);
  record.holder = getpid();
  int code = 0;
  try {
    JobHolder(spec, std::move(record), std::move(alive), std::move(started)).run();
  } catch (const std::exception& error) {
    const std::string text = fmt::format("{}\n", error.what());
    (void)!write(STDERR_FILENO, text.data(), text.size());
    code = 1;
  }
  _exit(code);
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) != 0;) {
    if (n > 0) text.append(buffer, size_t(n));
    if (n < 0 && errno != EINTR) break;
  }
  return text;
}

}  // namespace

std::string run_detached(const JobSpec& spec, const DetachedOptions& options) {
  check(spec);
  JobShelf shelf(posix_files(), shelf_dir());
  JobRecord record = new_record(spec, random_hex(kJobIdBytes));
  Fd alive = shelf.create(record.id);
  record.detached = true;
  record.log_dir = options.log_dir.empty() ? shelf.log_folder(record.id) : options.log_dir;
  posix_files().make_dirs(record.log_dir);
  shelf.write(record);
  Fd writing;
  Fd reading = make_pipe(writing);
  const int pid = fork();
  if (pid < 0) throw resource_exhausted("cannot fork: {}", std::strerror(errno));
  if (pid == 0) {
    reading.reset();
    hold(spec, record, shelf.folder(record.id), std::move(alive), std::move(writing));
  }
  writing.reset();
  alive.reset();
  const std::string failure = read_all(reading.get());
  const bool gone = waitpid(pid, nullptr, WNOHANG) == pid;
  auto pause = [] { poll(nullptr, 0, kLookMilliseconds); };
  if (failure.empty() && !gone) {
    while (shelf.alive(record.id) && shelf.read(record.id).state.tasks.empty()) pause();
    return record.id;
  }
  while (shelf.alive(record.id)) pause();
  shelf.remove(record.id);
  throw not_found("{}", failure.empty() ? "the job could not be started" : failure);
}

}  // namespace capstan::jobs
