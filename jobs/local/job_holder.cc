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
#include "jobs/local/detached_controller.h"
#include "jobs/local/log_folder.h"
#include "jobs/local/log_reader.h"

namespace capstan::jobs {
namespace {

// Between the end of a controller and the next: longer each time, unless it lived for a while.
constexpr std::chrono::milliseconds kFirstDelay(20), kLongestDelay(10'000);
constexpr auto kLongLife = std::chrono::seconds(1);
// Nobody may look at it for weeks. Twice as much is kept of each task.
constexpr uint64_t kLargestLog = 32 * 1024 * 1024;

Fd termination_as_fd() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Fd socket_pair(Fd& other) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    throw resource_exhausted("socketpair: {}", std::strerror(errno));
  }
  other = Fd(fds[1]);
  return Fd(fds[0]);
}

}  // namespace

JobHolder::JobHolder(JobSpec spec, JobRecord record, Fd alive, Fd started)
    : spec_(std::move(spec)),
      record_(std::move(record)),
      alive_(std::move(alive)),
      started_(std::move(started)),
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
      signals_(termination_as_fd()),
      delay_(kFirstDelay) {}

JobHolder::~JobHolder() {
  if (controller_end_) loop_.unwatch(controller_end_.get());
}

void JobHolder::run() {
  // A stop is the controller's to carry out.
  loop_.watch(signals_.get(), [this] {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGTERM && controller_ > 0) kill(controller_, SIGTERM);
    }
  });
  start_controller();
  loop_.run_until([this] { return done_; });
}

void JobHolder::start_controller() {
  Fd theirs;
  Fd ours = socket_pair(theirs);
  controller_start_ = loop_.now();
  controller_ = fork();
  if (controller_ == 0) {
    // Nothing that we hold may be held by it too: tasks' ports and pipes, and the line to the
    // keeper. It never returns, so that nothing of ours is destroyed twice.
    dup2(theirs.get(), STDIN_FILENO);
    close_range(3, ~0U, 0);
    _exit(run_detached_controller(spec_, cluster_, record_, Fd(STDIN_FILENO)));
  }
  if (controller_ < 0) {
    loop_.at(loop_.now() + delay_, [this] { start_controller(); });
    return;
  }
  server_.serve(std::move(ours));
  controller_end_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, controller_, 0)));
  loop_.watch(controller_end_.get(), [this] { on_controller_end(); });
}

void JobHolder::on_controller_end() {
  loop_.unwatch(controller_end_.get());
  controller_end_.reset();
  int status = 0;
  waitpid(controller_, &status, 0);
  controller_ = -1;
  server_.hang_up();
  done_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (done_) return;
  if (loop_.now() - controller_start_ > kLongLife) delay_ = kFirstDelay;
  loop_.at(loop_.now() + delay_, [this] { start_controller(); });
  delay_ = std::min(delay_ * 2, kLongestDelay);
}

void JobHolder::tell_start() {
  const std::vector<TaskStatus> list = platform_.list();
  auto failed = std::ranges::find_if(list, [](const auto& s) { return s.start_error.has_value(); });
  const bool all = list.size() == tasks_of(spec_).size();
  if (!started_ || (failed == list.end() && !all)) return;
  const std::string text = failed == list.end() ? "" : failed->start_error->message();
  (void)!write(started_.get(), text.data(), text.size());
  started_.reset();
}

}  // namespace capstan::jobs
