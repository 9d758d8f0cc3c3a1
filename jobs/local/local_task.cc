#include "jobs/local/local_task.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace capstan::jobs {
namespace {

// A failure that only tells of another's loss counts this much later: the kernel closes the
// sockets of a dying task before we can see its end.
constexpr double kConsequence = 1.0;

bool tells_of_another(const std::string& code) {
  return code == "Unavailable" || code == "Aborted" || code == "Cancelled";
}

Fd cloexec_pipe(Fd& writing) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) throw resource_exhausted("pipe: {}", std::strerror(errno));
  writing = Fd(fds[1]);
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return Fd(fds[0]);
}

// Packets: a line is never cut, and a task whose launcher does not read drops lines whole.
Fd cloexec_channel(Fd& other) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    throw resource_exhausted("socketpair: {}", std::strerror(errno));
  }
  other = Fd(fds[1]);
  return Fd(fds[0]);
}

}  // namespace

double monotonic_seconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

LocalTask::LocalTask(TaskId id, const std::string& log_path, JobObserver& observer)
    : role_(role_of(id.job)),
      observer_(observer),
      log_(log_path, [this](std::string_view line) { on_line(line); }) {
  report.task = std::move(id);
  report.host = "127.0.0.1";
  if (role_ == Role::kEvaluator) return;
  held = hold_free_port();
  report.port = held.port;
}

void LocalTask::start(std::vector<std::string> argv, std::vector<std::string> env, int secret) {
  Fd writing, task_end;
  output_ = cloexec_pipe(writing);
  channel_ = cloexec_channel(task_end);
  ProcessOptions options{std::move(argv), std::move(env), writing.get(), {task_end.get(), secret}};
  options.env.push_back("CAPSTAN_TASK_FD=" + std::to_string(task_end.get()));
  options.env.push_back("CAPSTAN_SECRET_FD=" + std::to_string(secret));
  if (held.socket) {
    options.env.push_back("CAPSTAN_LISTEN_FD=" + std::to_string(held.socket.get()));
    options.inherit.push_back(held.socket.get());
  }
  process_ = std::make_unique<Process>(options);
  held.socket.reset();  // so that peers see it when the task dies
  started_ = monotonic_seconds();
  report.pid = process_->pid();
  observer_.started(report);
}

void LocalTask::read_output() {
  char buffer[64 * 1024];
  for (int i = 0; i < 16 && output_; ++i) {  // one chatty task must not starve the others
    ssize_t n = read(output_.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      output_.reset();
      return;
    }
    log_.feed({buffer, static_cast<size_t>(n)});
  }
}

void LocalTask::read_channel() {
  char buffer[64 * 1024];
  while (channel_) {
    ssize_t n = recv(channel_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      channel_.reset();
      return;
    }
    on_event({buffer, static_cast<size_t>(n)});
  }
}

void LocalTask::finish() {
  ended_ = monotonic_seconds();
  read_channel();
  ProcessEnd end = process_->reap();
  process_.reset();
  read_output();
  log_.finish();
  output_.reset();
  channel_.reset();
  report.exit_code = end.exit_code;
  report.signal = end.signal;
  report.peak_memory = end.peak_memory;
  report.seconds = ended_ - started_;
  if (error_) report.error = error_->message;
}

void LocalTask::ask_to_stop(double now, double grace) {
  if (!running()) return;
  if (!asked_at_) {
    asked_at_ = now;
    process_->signal_group(SIGTERM);
  } else if (now - *asked_at_ >= grace && !killed_) {
    killed_ = true;
    process_->signal_group(SIGKILL);
  }
}

double LocalTask::failure_time() const {
  if (!error_) return ended_;
  return error_->time.value_or(ended_) + (tells_of_another(error_->code) ? kConsequence : 0);
}

void LocalTask::on_line(std::string_view line) {
  observer_.log(report.task, line);
  PrintedProgress printed = printed_progress(line);
  bool new_step = printed.step && !steps_over_channel_;
  bool new_loss = printed.loss && !loss_over_channel_;
  if (new_step) progress_.step = *printed.step;
  if (new_loss) progress_.loss = printed.loss;
  if (new_step || new_loss) observer_.progress(report.task, progress_);
}

void LocalTask::on_event(std::string_view line) {
  TaskEvent event = task_event(line);
  if (event.port) report.port = *event.port;
  serves_ = serves_ || event.serves;
  trained_ = trained_ || event.trained;
  if (event.waits_for) waits_for_ = *event.waits_for;
  if (event.error && !error_) error_ = std::move(event.error);
  if (error_ && !error_->time) error_->time = monotonic_seconds();
  if (!event.step) return;
  steps_over_channel_ = true;
  progress_.step = *event.step;
  if (event.loss) {
    loss_over_channel_ = true;
    progress_.loss = event.loss;
  }
  if (event.last_step) progress_.last_step = *event.last_step;
  observer_.progress(report.task, progress_);
}

}  // namespace capstan::jobs
