#include "jobs/local/job_holder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "jobs/job_shelf.h"
#include "jobs/local/children.h"
#include "jobs/local/detached_controller.h"
#include "jobs/local/log_folder.h"
#include "jobs/local/log_reader.h"
#include "jobs/local/pipes.h"
#include "jobs/local/start_news.h"

namespace capstan::jobs {
namespace {

// Between the end of a controller and the next: longer each time, unless it lived for a while.
constexpr std::chrono::milliseconds kFirstDelay(20), kLongestDelay(10'000);
constexpr auto kLongLife = std::chrono::seconds(1);
// Nobody may look at it for weeks. Twice as much is kept of each task.
constexpr uint64_t kLargestLog = 32 * 1024 * 1024;

}  // namespace

JobHolder::JobHolder(JobSpec spec, JobRecord record, Fd& started)
    : spec_(std::move(spec)),
      record_(std::move(record)),
      started_(started),
      platform_(loop_, spec_,
                {.job_id = record_.id,
                 .log_file =
                     [this](const TaskId& task) {
                       return join_path(record_.log_dir, log_file_name(task));
                     },
                 .largest_log = kLargestLog}),
      cluster_(platform_.cluster()),
      server_(loop_, platform_,
              [this](const TaskId& task) {
                loop_.post([this] { tell_start(); });
                return task_spec(spec_, cluster_, task);
              }),
      signals_(signals_as_fd({SIGTERM, SIGINT, SIGHUP})),
      delay_(kFirstDelay) {}

JobHolder::~JobHolder() {
  if (controller_end_) loop_.unwatch(controller_end_.get());
}

void JobHolder::run() {
  // A stop is the controller's to carry out.
  loop_.watch(signals_.get(), [this] {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGTERM) continue;
      asked_to_stop_ = true;
      if (controller_ > 0) kill(controller_, SIGTERM);
    }
  });
  start_controller();
  loop_.run_until([this] { return done_; });
}

void JobHolder::start_controller() {
  if (asked_to_stop_) pass_on_the_stop();
  if (!fork_controller()) start_controller_later();
}

// False if the system has no room for it now.
bool JobHolder::fork_controller() {
  Fd theirs, ours;
  try {
    ours = make_packet_pair(theirs);
  } catch (const Error&) {
    return false;
  }
  controller_start_ = loop_.now();
  const int pid = fork_child();
  if (pid == 0) {
    // Nothing that we hold may be held by it too: tasks' ports and pipes, and the line to the
    // keeper. It never returns, so that nothing of ours is destroyed twice.
    dup2(theirs.get(), STDIN_FILENO);
    close_range(3, ~0U, 0);
    _exit(run_detached_controller(spec_, cluster_, record_, Fd(STDIN_FILENO)));
  }
  if (pid < 0) return false;
  controller_end_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!controller_end_) {
    kill(pid, SIGKILL);
    wait_for_child(pid);
    return false;
  }
  controller_ = pid;
  if (asked_to_stop_) kill(controller_, SIGTERM);
  server_.serve(std::move(ours));
  loop_.watch(controller_end_.get(), [this] { on_controller_end(); });
  return true;
}

void JobHolder::start_controller_later() {
  loop_.at(loop_.now() + delay_, [this] { start_controller(); });
  delay_ = std::min(delay_ * 2, kLongestDelay);
}

// A signal that the last controller did not live to carry out. As a request on the shelf it is not
// taken for a second one, which would kill at once.
void JobHolder::pass_on_the_stop() {
  try {
    users_shelf().ask_to_stop(record_.id);
    asked_to_stop_ = false;
  } catch (const Error&) {  // by another signal, then
  }
}

void JobHolder::on_controller_end() {
  loop_.unwatch(controller_end_.get());
  controller_end_.reset();
  const int status = wait_for_child(std::exchange(controller_, -1));
  server_.hang_up();
  done_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (done_) return;
  if (loop_.now() - controller_start_ > kLongLife) delay_ = kFirstDelay;
  start_controller_later();
}

void JobHolder::tell_start() {
  const std::vector<TaskStatus> list = platform_.list();
  auto failed = std::ranges::find_if(list, [](const auto& s) { return s.start_error.has_value(); });
  if (failed != list.end()) return tell_failure(started_, *failed->start_error);
  if (list.size() == tasks_of(spec_).size()) tell_started(started_);
}

}  // namespace capstan::jobs
