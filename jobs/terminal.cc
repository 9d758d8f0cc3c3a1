#include "jobs/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ranges>

#include "base/printable.h"
#include "jobs/report_table.h"
#include "jobs/text_table.h"

namespace capstan::jobs {
namespace {

constexpr double kLiveInterval = 0.1;  // between two drawings
constexpr double kPlainInterval = 10;  // between two lines in a pipe
constexpr std::array<int, 6> kColours = {36, 32, 33, 35, 34, 31};

double now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

}  // namespace

size_t columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string TaskPrefixes::of(const TaskId& task) {
  if (!colour_) return fmt::format("[{}] ", task.name());
  const int next = kColours[colours_.size() % kColours.size()];
  return fmt::format("\x1b[{}m[{}]\x1b[0m ", colours_.emplace(task, next).first->second,
                     task.name());
}

void Terminal::started(const TaskReport& task) {
  ++live_tasks_;
  prefixes_.of(task.task);
}

// What the task prints is its own, but may quote a peer.
void Terminal::log(const TaskId& task, std::string_view line) {
  if (!options_.quiet) show(prefixes_.of(task), printable_with_colours(line));
}

void Terminal::progress(const TaskId& task, const Progress& progress) {
  steps_[task] = progress.step;
  progress_.step = std::ranges::max(steps_ | std::views::values);
  if (progress.loss) progress_.loss = progress.loss;
  progress_.last_step = std::max(progress_.last_step, progress.last_step);
  rates_.add(task, now(), progress.step);
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
  if (options_.quiet || output_.full()) return;
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
  return progress_text(progress_, rates_.fastest(now()), live_tasks_);
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

void Terminal::show(std::string_view prefix, std::string_view line) {
  clear_live_line();
  write(options_.out, fmt::format("{}{}\n", prefix, line));
}

void Terminal::clear_live_line() {
  if (drawn_) write(options_.out, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace capstan::jobs
