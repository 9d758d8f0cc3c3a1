#pragma once

// For tests of the controller: a clock that moves when told, and tasks that do as told. No process.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "jobs/platform.h"

namespace capstan::jobs {

class FakeLoop final : public Loop {
 public:
  Deadline now() const override { return now_; }
  void post(Task task) override { posted_.push_back(std::move(task)); }
  TimerId at(Deadline when, Task task) override {
    timers_.emplace(std::pair(when, ++last_timer_), std::move(task));
    return last_timer_;
  }
  void cancel(TimerId timer) override {
    std::erase_if(timers_, [&](const auto& t) { return t.first.second == timer; });
  }
  bool on_loop_thread() const override { return true; }

  double seconds() const { return seconds_of(now_); }
  void run_posted() {
    while (!posted_.empty()) {
      std::vector<Task> tasks;
      tasks.swap(posted_);
      for (Task& task : tasks) task();
    }
  }
  // Every timer fires at its own moment.
  void advance(double seconds) {
    const Deadline until = deadline_of(seconds_of(now_) + seconds);
    run_posted();
    while (!timers_.empty() && timers_.begin()->first.first <= until) {
      now_ = std::max(now_, timers_.begin()->first.first);
      Task task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      task();
      run_posted();
    }
    now_ = until;
  }

 private:
  Deadline now_ = deadline_of(1000);
  std::vector<Task> posted_;
  std::map<std::pair<Deadline, TimerId>, Task> timers_;
  TimerId last_timer_ = 0;
};

class FakePlatform : public Platform {
 public:
  explicit FakePlatform(FakeLoop& loop) : loop_(loop) {}

  void watch(PlatformWatcher* watcher) override { watcher_ = watcher; }
  void start(const TaskSpec& spec, int attempt) override {
    TaskStatus& status = tasks[spec.task];
    if (status.attempt > 0 && !status.ended) doubled = true;
    status = {.task = spec.task, .attempt = attempt, .host = "h", .started_at = loop_.seconds()};
    history.push_back("start " + spec.task.name());
    if (start_error) {
      status.ended = true;
      status.exit_code = 127;
      status.ended_at = loop_.seconds();
      status.start_error = start_error;
    } else {
      status.pid = ++last_pid_;
    }
  }
  void stop(const TaskId& task, StopHow how) override {
    if (!runs(task)) return;
    TaskStatus& status = tasks.at(task);
    status.asked_to_stop = true;
    history.push_back((how == StopHow::kAsk ? "ask " : "kill ") + task.name());
    if (how == StopHow::kKill) {
      end(task, 137, 9);
    } else if (obedient) {
      end(task, 0);
    }
  }
  std::vector<TaskStatus> list() const override {
    std::vector<TaskStatus> all;
    for (const auto& [id, status] : tasks) all.push_back(status);
    return all;
  }
  std::vector<std::string> last_lines(const TaskId& task) const override {
    return {"last of " + task.name()};
  }
  void clean_up() override { ++cleaned; }

  bool runs(const TaskId& task) const {
    auto found = tasks.find(task);
    return found != tasks.end() && !found->second.ended;
  }
  int attempt(const TaskId& task) const { return tasks.at(task).attempt; }
  int attempt_or_0(const TaskId& task) const { return tasks.contains(task) ? attempt(task) : 0; }
  void end(const TaskId& task, int exit_code, int signal = 0) {
    if (!runs(task)) return;
    TaskStatus& status = tasks.at(task);
    status.ended = true;
    status.ended_at = loop_.seconds();
    status.exit_code = exit_code;
    status.signal = signal;
    tell_change();
  }
  void error(const TaskId& task, std::string code, std::string message = "m") {
    tell(task, [&](TaskTold& told) {
      if (!told.error) told.error = TaskError{loop_.seconds(), std::move(code), std::move(message)};
    });
  }
  void tell(const TaskId& task, const std::function<void(TaskTold&)>& change) {
    if (!runs(task)) return;
    change(tasks.at(task).told);
    tell_change();
  }
  // By the platform itself.
  void restart_in_place(const TaskId& task, int times) {
    if (!runs(task)) return;
    tasks.at(task).restarts += times;
    tell_change();
  }
  // Told while no controller looked.
  void step_unheard(const TaskId& task, int64_t step) {
    if (runs(task)) tasks.at(task).told.progress.step = step;
  }
  void step(const TaskId& task, int64_t step) {
    step_unheard(task, step);
    if (watcher_) watcher_->progress(task, {.step = step});
  }
  void forget(const TaskId& task) {
    tasks.erase(task);
    tell_change();
  }

  std::map<TaskId, TaskStatus> tasks;
  std::vector<std::string> history;
  bool obedient = true;              // ends with code 0 when asked to stop
  std::optional<Error> start_error;  // of whatever is started from now on
  bool doubled = false;              // two of one task: never
  int cleaned = 0;

 private:
  void tell_change() {
    loop_.post([this] {
      if (watcher_) watcher_->changed();
    });
  }

  FakeLoop& loop_;
  PlatformWatcher* watcher_ = nullptr;
  int last_pid_ = 0;
};

// Keeps what it is told as text, as in "started ps/0".
class Notes : public JobObserver {
 public:
  void started(const TaskReport& task) override { all.push_back("started " + task.task.name()); }
  void log(const TaskId& task, std::string_view line) override {
    all.push_back("log " + task.name() + " " + std::string(line));
  }
  void progress(const TaskId&, const Progress&) override {}
  void ended(const TaskReport& task) override { all.push_back("ended " + task.task.name()); }
  void restarts(const TaskReport& task, double) override {
    all.push_back("restarts " + task.task.name() + ": " + task.attempts.back().why);
  }
  void note(std::string_view text) override { all.emplace_back(text); }

  bool has(std::string_view text) const {
    return std::ranges::any_of(all, [&](const auto& note) { return note.find(text) != note.npos; });
  }

  std::vector<std::string> all;
};

}  // namespace capstan::jobs
