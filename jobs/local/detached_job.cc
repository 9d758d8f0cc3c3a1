#include "jobs/local/detached_job.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/error.h"
#include "jobs/job_shelf.h"
#include "jobs/local/children.h"
#include "jobs/local/job_holder.h"
#include "jobs/local/log_folder.h"
#include "jobs/local/pipes.h"
#include "jobs/local/start_news.h"
#include "jobs/random_hex.h"
#include "jobs/watched_job.h"

namespace capstan::jobs {
namespace {

// Nothing of the terminal is ours from now on, nor anything else that whoever called us had open.
void leave_the_terminal(const std::string& folder, const std::vector<const Fd*>& kept) {
  setsid();
  const std::string log = join_path(folder, "errors.log");
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Fd errors(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  dup2(null.get(), STDIN_FILENO);
  dup2(null.get(), STDOUT_FILENO);
  dup2(errors ? errors.get() : null.get(), STDERR_FILENO);
  std::set<unsigned> open = {unsigned(null.get())};
  for (const Fd* fd : kept) {
    if (*fd) open.insert(unsigned(fd->get()));
  }
  if (errors) open.insert(unsigned(errors.get()));
  unsigned next = STDERR_FILENO + 1;
  for (unsigned fd : open) {
    if (fd > next) close_range(next, fd - 1, 0);
    next = std::max(next, fd + 1);
  }
  close_range(next, ~0U, 0);
}

struct Belongings {
  Fd alive;    // as others see the job
  Fd logs;     // nobody else writes there
  Fd started;  // jobs/local/start_news.h
};

[[noreturn]] void hold(const JobSpec& spec, JobRecord record, const std::string& folder,
                       Belongings own) {
  leave_the_terminal(folder, {&own.alive, &own.logs, &own.started});
  record.holder = getpid();
  int code = 0;
  try {
    JobHolder(spec, std::move(record), own.started).run();
  } catch (const std::exception& error) {
    const auto* ours = dynamic_cast<const Error*>(&error);
    tell_failure(own.started, ours ? *ours : Error(Code::kInternal, error.what()));
    const std::string text = fmt::format("{}\n", error.what());
    (void)!write(STDERR_FILENO, text.data(), text.size());
    code = 1;
  }
  _exit(code);
}

// Makes the job's folders, and the process that holds it. Returns its id, and what it will say.
int start_holder(const JobSpec& spec, JobShelf& shelf, const JobRecord& record, Belongings own,
                 Fd& news) {
  posix_files().make_dirs(record.log_dir);
  own.logs = lock_log_folder(record.log_dir);
  shelf.write(record);
  news = make_pipe(own.started);
  const int pid = fork_child();
  if (pid < 0) throw resource_exhausted("cannot fork: {}", std::strerror(errno));
  if (pid == 0) hold(spec, record, shelf.folder(record.id), std::move(own));
  return pid;
}

}  // namespace

std::string run_detached(const JobSpec& spec, const DetachedOptions& options) {
  check(spec);
  JobShelf shelf = users_shelf();
  JobRecord record = new_record(spec, random_hex(kJobIdBytes));
  Belongings own{.alive = shelf.create(record.id)};
  record.detached = true;
  record.log_dir = options.log_dir.empty() ? shelf.log_folder(record.id) : options.log_dir;
  int holder = -1;
  try {
    Fd news;
    holder = start_holder(spec, shelf, record, std::move(own), news);
    wait_for_start(news.get());
  } catch (const Error&) {
    if (holder > 0) wait_for_child(holder);
    shelf.remove(record.id);
    throw;
  }
  return record.id;
}

}  // namespace capstan::jobs
