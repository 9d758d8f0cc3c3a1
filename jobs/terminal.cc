#include "jobs/terminal.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/printable.h"
#include "jobs/report_table.h"
#include "jobs/text_table.h"

namespace capstan::jobs {
namespace {

constexpr double kLiveInterval = 0.1;  // between two drawings
constexpr double kPlainInterval = 10;  // between two lines in a pipe
constexpr size_t kAtomicWrite = 4096;  // a pipe that is writable takes as much without blocking
constexpr std::array<int, 6> kColours = {36, 32, 33, 35, 34, 31};

double now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Terminal::Terminal(TerminalOptions options, std::function<void()> reader_gone)
    : options_(options), reader_gone_(std::move(reader_gone)) {}

size_t columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void Terminal::started(const TaskReport& task) {
  ++live_tasks_;
  colours_.emplace(task.task, kColours[colours_.size() % kColours.size()]);
}

// What the task prints is its own, but may quote a peer.
void Terminal::log(const TaskId& task, std::string_view line) {
  if (!options_.quiet) show(prefix(task), printable_with_colours(line));
}

void Terminal::progress(const TaskId&, const Progress& progress) {
  progress_.step = std::max(progress_.step, progress.step);
  if (progress.loss) progress_.loss = progress.loss;
  progress_.last_step = std::max(progress_.last_step, progress.last_step);
  rate_.add(now(), progress_.step);
}

void Terminal::ended(const TaskReport& task) {
  --live_tasks_;
  if (task.state == TaskState::kFailed) {
    std::string_view how = task.signal ? "failed:" : "failed with";
    note(fmt::format("{} {} {}", task.task.name(), how, end_text(task)));
  }
}

void Terminal::restarts(const TaskReport& task, double delay) {
  --live_tasks_;
  note(fmt::format("{} failed ({}); attempt {} in {}", task.task.name(), task.attempts.back().why,
                   task.attempt, duration_text(delay)));
}

void Terminal::note(std::string_view text) { show("[capstan] ", printable(text)); }

void Terminal::tick() {
  if (options_.quiet) return;
  double time = now();
  if (time - last_drawn_ < (options_.live ? kLiveInterval : kPlainInterval)) return;
  bool first = last_drawn_ == 0;
  last_drawn_ = time;
  if (options_.live) {
    std::string line = status().substr(0, columns(options_.out) - 1);
    write(options_.out, "\r\x1b[K" + line);
    drawn_ = true;
  } else if (!first && progress_.step > 0) {
    note(status());
  }
}

std::string Terminal::status() const {
  return progress_text(progress_, rate_.per_second(), live_tasks_);
}

void Terminal::finish(const JobReport& report) {
  clear_live_line();
  if (report.cause && !report.last_lines.empty()) {
    const TaskReport& cause = report.tasks[*report.cause];
    write(options_.err, fmt::format("\nlast lines of {}:\n", cause.task.name()));
    for (const std::string& line : report.last_lines)
      write(options_.err, "  " + printable_with_colours(line) + "\n");
  }
  write(options_.out, "\n" + report_table(report, options_.colour));
  if (!report.reason.empty()) {
    write(options_.err, fmt::format("capstan: {}\n", report.reason));
    if (report.cause && !report.tasks[*report.cause].error.empty()) {
      write(options_.err, fmt::format("  {}\n", printable(report.tasks[*report.cause].error)));
    }
  }
  if (!report.log_dir.empty()) write(options_.err, fmt::format("logs: {}\n", report.log_dir));
}

std::string Terminal::prefix(const TaskId& task) {
  if (!options_.colour) return fmt::format("[{}] ", task.name());
  return fmt::format("\x1b[{}m[{}]\x1b[0m ", colours_[task], task.name());
}

void Terminal::show(std::string_view prefix, std::string_view line) {
  clear_live_line();
  write(options_.out, fmt::format("{}{}\n", prefix, line));
}

void Terminal::clear_live_line() {
  if (drawn_) write(options_.out, "\r\x1b[K");
  drawn_ = false;
}

void Terminal::write(int fd, std::string_view text) {
  while (!text.empty() && !deaf_) {
    pollfd fds[2] = {{fd, POLLOUT, 0}, {options_.interrupt, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno == EINTR) continue;
    if (fds[0].revents == 0) return;  // interrupted, and nobody reads: the line is lost
    ssize_t n = ::write(fd, text.data(), std::min(text.size(), kAtomicWrite));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      deaf_ = true;
      reader_gone_();
      return;
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace capstan::jobs
