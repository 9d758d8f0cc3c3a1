#include "jobs/local/local_task.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "jobs/failure.h"
#include "jobs/local/pipes.h"
#include "jobs/local/task_event.h"

namespace capstan::jobs {
namespace {

constexpr size_t kLongestError = 16 * 1024;

// Memory instead of a pipe: nobody has to write while the task reads.
Fd input_of(const TaskSpec& spec) {
  if (spec.input.empty()) return {};
  Fd fd(memfd_create("capstan input", MFD_CLOEXEC));
  for (size_t done = 0; fd && done < spec.input.size();) {
    ssize_t n = write(fd.get(), spec.input.data() + done, spec.input.size() - done);
    if (n < 0 && errno != EINTR) fd.reset();
    if (n > 0) done += size_t(n);
  }
  if (fd && lseek(fd.get(), 0, SEEK_SET) == 0) return fd;
  throw resource_exhausted("no memory for the input of {}: {}", spec.task.name(),
                           std::strerror(errno));
}

void check_folder(const std::string& path) {
  if (path.empty() || access(path.c_str(), X_OK) == 0) return;
  throw not_found("the folder {}: {}", path, std::strerror(errno));
}

}  // namespace

LocalTask::LocalTask(PollLoop& loop, TaskLog& log, const TaskSpec& spec,
                     const LocalSurroundings& around, Sink sink)
    : loop_(loop), log_(log), sink_(std::move(sink)), spec_(spec) {
  check_folder(spec.cwd);
  lay_out(spec, spec.cwd);
  if (spec.memory_limit && !around.cgroup.empty()) enter_cgroup(around.cgroup);
  start_process(around);
  status.task = spec.task;
  status.pid = process_->pid();
  status.started_at = seconds_of(loop_.now());
  hold_output(false);
  loop_.watch(channel_.get(), [this] { read_channel(); });
  loop_.watch(process_->wait_fd(), [this] { finish(); });
  if (!spec.memory_limit || cgroup_) return;
  watch_ = around.watch;
  watch_->add(status.pid, *spec.memory_limit, [this](int64_t had) {
    had_ = had;
    process_->signal_group(SIGKILL);
  });
}

// The platform has found a place for it, and yet something may be in the way.
void LocalTask::enter_cgroup(const std::string& folder) {
  try {
    cgroup_ = std::make_unique<MemoryCgroup>(folder, *spec_.memory_limit);
  } catch (const Error& error) {
    log_.feed(
        fmt::format("capstan: no control group limits the memory, which is looked at once a "
                    "second instead: {}\n",
                    error.message()));
  }
}

void LocalTask::start_process(const LocalSurroundings& around) {
  Fd writing, task_end, input = input_of(spec_);
  output_ = make_pipe(writing);
  fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  // Packets: a line is never cut, and a task whose launcher does not read drops lines whole.
  channel_ = make_packet_pair(task_end);
  ProcessOptions options{.argv = spec_.argv, .env = around.env, .cwd = spec_.cwd};
  options.input = input.get();
  options.output = writing.get();
  if (cgroup_) options.cgroup = cgroup_->entrance();
  auto inherit = [&](const char* name, int fd) {
    if (fd < 0) return;
    options.env.push_back(fmt::format("{}={}", name, fd));
    options.inherit.push_back(fd);
  };
  inherit("CAPSTAN_TASK_FD", task_end.get());
  inherit("CAPSTAN_SECRET_FD", around.secret);
  inherit("CAPSTAN_LISTEN_FD", around.listener);
  process_ = std::make_unique<Process>(options);
}

LocalTask::~LocalTask() {
  close_pipes();
  if (!process_) return;
  loop_.unwatch(process_->wait_fd());
  if (watch_) watch_->forget(status.pid);
}

void LocalTask::stop(StopHow how) {
  if (!process_) return;
  status.asked_to_stop = true;
  process_->signal_group(how == StopHow::kAsk ? SIGTERM : SIGKILL);
}

void LocalTask::hold_output(bool held) {
  held_ = held && process_;
  if (!output_) return;
  if (held_) {
    loop_.unwatch(output_.get());
  } else {
    loop_.watch(output_.get(), [this] { read_output(); });
  }
}

// What it told before it printed counts first.
void LocalTask::read_output() {
  read_channel();
  char buffer[64 * 1024];
  for (int i = 0; i < 16 && output_ && !held_; ++i) {  // one chatty task must not starve the others
    ssize_t n = read(output_.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      loop_.unwatch(output_.get());
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
      loop_.unwatch(channel_.get());
      channel_.reset();
      return;
    }
    on_event({buffer, static_cast<size_t>(n)});
  }
}

// The process has ended: reads the rest and reaps.
void LocalTask::finish() {
  status.ended_at = seconds_of(loop_.now());
  loop_.unwatch(process_->wait_fd());
  ProcessEnd end = process_->reap();
  process_.reset();
  held_ = false;
  if (watch_) watch_->forget(status.pid);
  read_output();
  log_.finish();
  close_pipes();
  status.exit_code = end.exit_code;
  status.signal = end.signal;
  status.peak_memory = end.peak_memory;
  const bool ran_out = had_ > 0 || (cgroup_ && cgroup_->ran_out());
  if (ran_out && end.exit_code != 0) status.told.error = over_memory(spec_, had_, status.ended_at);
  cgroup_.reset();
  status.ended = true;
  sink_.changed();
}

void LocalTask::close_pipes() {
  for (Fd* fd : {&output_, &channel_}) {
    if (*fd) loop_.unwatch(fd->get());
    fd->reset();
  }
}

void LocalTask::on_line(std::string_view line) {
  PrintedProgress printed = printed_progress(line);
  const bool new_step = printed.step && !steps_over_channel_;
  const bool new_loss = printed.loss && !loss_over_channel_;
  if (new_step) status.told.progress.step = *printed.step;
  if (new_loss) status.told.progress.loss = printed.loss;
  if (new_step || new_loss) sink_.progress();
}

void LocalTask::on_event(std::string_view line) {
  TaskEvent event = task_event(line);
  TaskTold& told = status.told;
  if (event.port) status.port = *event.port;
  told.serves |= event.serves;
  told.trained |= event.trained;
  if (event.waits_for) told.waits_for = *event.waits_for;
  if (event.error && !told.error) {
    told.error = std::move(event.error);
    told.error->message.resize(std::min(told.error->message.size(), kLongestError));
    if (!told.error->time) told.error->time = seconds_of(loop_.now());
  }
  if (!event.step) return sink_.changed();
  steps_over_channel_ = true;
  told.progress.step = *event.step;
  loss_over_channel_ |= event.loss.has_value();
  if (event.loss) told.progress.loss = event.loss;
  if (event.last_step) told.progress.last_step = *event.last_step;
  sink_.progress();
}

}  // namespace capstan::jobs
