#pragma once

// For tests of the rules of a job, as a table: what happens, and what must follow. Each row is also
// played with a new controller after every event: it must come to the same end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "jobs/failure.h"
#include "jobs/fake_platform.h"
#include "jobs/job_controller.h"

namespace capstan::jobs {

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) {
    part.erase(0, part.find_first_not_of(' '));
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

inline TaskId task_of(const std::string& text) {
  const size_t slash = text.find('/');
  return {text.substr(0, slash), std::stoi(text.substr(slash + 1))};
}

struct Rule {
  const char* name;
  const char* tasks;  // "ps 1; worker 2"
  const char*
      options;  // "restart 3; timeout 10; success chief; passing; never; ps-never; broken;
                // evaluator waits; memory; counted (ends alone count) [lead|workers|PERCENT];
                // exit-code; every-failure; always; least N; together; leave; TASKS-POLICY
  // end TASK CODE; signal TASK N; error TASK CODE [message]; serves|trained|lost TASK;
  // memory TASK HAD; waits TASK WHOM; goes-on TASK; step|unheard TASK N; in-place TASK N
  // (restarts); +SECONDS; stop; ctrl-c; stubborn; vanishes (the program); no-room (to start
  // anything); room
  const char* events;
  // exit N; runs; limit; TASK STATE; TASK attempt|restarts N; cause TASK|nobody; says TEXT;
  // did ACTION; not ACTION;
  // once ACTION; order ACTION < ACTION
  const char* expected;
};

inline constexpr int64_t kMemory = 1 << 20;

inline const std::map<std::string, RestartPolicy> kPolicies = {
    {"never", RestartPolicy::kNever},        {"passing", RestartPolicy::kPassing},
    {"exit-code", RestartPolicy::kExitCode}, {"every-failure", RestartPolicy::kEveryFailure},
    {"always", RestartPolicy::kAlways},
};

// As for a file that says no more.
inline void set_counted(JobSpec& spec, const std::string& rule) {
  spec.success = rule == "lead"      ? SuccessRule::kLead
                 : rule == "workers" ? SuccessRule::kWorkers
                                     : SuccessRule::kShare;
  if (spec.success == SuccessRule::kShare) spec.share = std::stoi(rule);
  spec.restart = RestartPolicy::kNever;
  spec.restarts = kNoLimit;
  spec.incident = 0;
  spec.replace_lost = true;
}

inline void set(JobSpec& spec, const std::vector<std::string>& words) {
  if (words[0] == "restart") {
    spec.restarts = std::stoi(words[1]);
  } else if (words[0] == "timeout") {
    spec.timeout_seconds = std::stod(words[1]);
  } else if (words[0] == "success") {
    spec.success = SuccessRule::kChief;
  } else if (words[0] == "counted") {
    set_counted(spec, words.size() > 1 ? words[1] : "lead");
  } else if (words[0] == "least") {
    spec.least_workers = std::stoi(words[1]);
  } else if (words[0] == "together") {
    spec.restart_together = true;
  } else if (words[0] == "leave") {
    spec.at_end = AtEnd::kLeave;
  } else if (kPolicies.contains(words[0])) {
    spec.restart = kPolicies.at(words[0]);
  } else if (words[0] == "ps-never") {
    spec.adjust = [](const Cluster&, TaskSpec& task) {
      if (task.task.job == "ps") task.restart = RestartPolicy::kNever;
    };
  } else if (words[0] == "evaluator") {
    spec.wait_for_evaluator = true;
  } else if (words[0] == "memory") {
    spec.memory = {{"", kMemory}};
  } else if (words[0] != "broken") {
    ADD_FAILURE() << "no such option: " << words[0];
  }
}

inline JobSpec spec_of(const Rule& rule) {
  JobSpec spec;
  spec.program.path = "program";
  for (const std::string& group : split(rule.tasks, ';')) {
    auto words = split(group, ' ');
    spec.groups.push_back({words[0], std::stoi(words[1])});
  }
  for (const std::string& option : split(rule.options, ';')) set(spec, split(option, ' '));
  return spec;
}

class Play {
 public:
  explicit Play(const Rule& rule) : spec_(spec_of(rule)), platform_(loop_) {
    if (std::string_view(rule.options) == "broken") to_the_job("vanishes");
  }

  // As if the process had been killed, and another one had read its record.
  void replace_controller() {
    JobState state = controller_ ? controller_->state() : JobState();
    controller_.reset();
    controller_ =
        std::make_unique<JobController>(spec_, Cluster(), platform_, loop_, notes_, state);
    if (state.started == 0 || !state.done()) controller_->start();
  }

  void happen(const std::string& event) {
    auto words = split(event, ' ');
    if (event[0] == '+') {
      loop_.advance(std::stod(event.substr(1)));
    } else if (words.size() == 1) {
      to_the_job(words[0]);
    } else {
      to_a_task(task_of(words[1]), words);
    }
    loop_.run_posted();
  }

  std::string mismatch(const std::string& expected) {
    auto words = split(expected, ' ');
    const JobReport report = controller_->report();
    if (words[0] == "runs") return controller_->done() ? "has ended" : "";
    if (words[0] == "limit") return controller_->state().stop->limit ? "" : "no limit";
    if (words[0] == "exit") {
      if (!controller_->done()) return "has not ended";
      return report.exit_code == std::stoi(words[1]) ? ""
                                                     : fmt::format("exit {}", report.exit_code);
    }
    if (words[0] == "cause") {
      std::string cause = report.cause ? report.tasks[*report.cause].task.name() : "nobody";
      return cause == words[1] ? "" : "cause is " + cause;
    }
    const std::string rest = expected.substr(expected.find(' ') + 1);
    if (words[0] == "says") {
      const bool said = notes_.has(rest) || report.reason.find(rest) != std::string::npos;
      return said ? "" : fmt::format("said {}; {}", fmt::join(notes_.all, "; "), report.reason);
    }
    if (words[0] == "did") return times(rest) > 0 ? "" : history();
    if (words[0] == "not") return times(rest) == 0 ? "" : history();
    if (words[0] == "once") return times(rest) == 1 ? "" : history();
    if (words[0] == "order") {
      const size_t at = rest.find(" < ");
      return index_of(rest.substr(0, at)) < index_of(rest.substr(at + 3)) ? "" : history();
    }
    return task_mismatch(task_of(words[0]), words);
  }

  bool doubled() const { return platform_.doubled; }

 private:
  void to_the_job(const std::string& what) {
    if (what == "stop") {
      controller_->stop("stopped on request", 143);
    } else if (what == "ctrl-c") {
      controller_->interrupt("Ctrl-C", 130);
    } else if (what == "stubborn") {
      platform_.obedient = false;
    } else if (what == "vanishes") {
      platform_.start_error = not_found("no such program");
    } else if (what == "no-room") {
      platform_.start_error = resource_exhausted("fork: no room");
    } else if (what == "room") {
      platform_.start_error.reset();
    } else {
      ADD_FAILURE() << "no such event: " << what;
    }
  }

  void to_a_task(const TaskId& task, const std::vector<std::string>& words) {
    const std::string& what = words[0];
    expect_known(task);
    if (what == "end") return platform_.end(task, std::stoi(words[2]));
    if (what == "signal")
      return platform_.end(task, 128 + std::stoi(words[2]), std::stoi(words[2]));
    if (what == "error") return platform_.error(task, words[2], words.size() > 3 ? words[3] : "m");
    if (what == "serves") return platform_.tell(task, [](TaskTold& t) { t.serves = true; });
    if (what == "trained")
      return platform_.tell(task, [](TaskTold& t) { t.serves = t.trained = true; });
    if (what == "waits") return platform_.tell(task, [&](TaskTold& t) { t.waits_for = words[2]; });
    if (what == "goes-on") return platform_.tell(task, [&](TaskTold& t) { t.waits_for = ""; });
    if (what == "step") return platform_.step(task, std::stoi(words[2]));
    if (what == "unheard") return platform_.step_unheard(task, std::stoi(words[2]));
    if (what == "lost") return platform_.forget(task);
    if (what == "in-place") return platform_.restart_in_place(task, std::stoi(words[2]));
    if (what == "memory") return run_out(task, std::stoll(words[2]));
    ADD_FAILURE() << "no such event: " << what;
  }

  void run_out(const TaskId& task, int64_t had) {
    const TaskSpec spec{.task = task, .memory_limit = kMemory};
    const TaskError error = over_memory(spec, had, loop_.seconds());
    platform_.tell(task, [&](TaskTold& told) { told.error = error; });
    platform_.end(task, 137, 9);
  }

  // A row about a task that the job does not have would say nothing.
  void expect_known(const TaskId& task) const {
    const std::vector<TaskId> all = tasks_of(spec_);
    EXPECT_NE(std::ranges::find(all, task), all.end()) << "no such task: " << task.name();
  }

  std::ptrdiff_t times(const std::string& action) const {
    expect_known(task_of(action.substr(action.find(' ') + 1)));
    return std::ranges::count(platform_.history, action);
  }
  size_t index_of(const std::string& action) const {
    return size_t(std::ranges::find(platform_.history, action) - platform_.history.begin());
  }
  std::string history() const { return fmt::format("{}", fmt::join(platform_.history, "; ")); }

  std::string task_mismatch(const TaskId& id, const std::vector<std::string>& words) const {
    constexpr const char* kNames[] = {"waiting", "running", "good", "failed", "stopped"};
    for (const TaskReport& task : controller_->state().tasks) {
      if (task.task != id) continue;
      if (words[1] == "attempt") {
        const std::string attempt = std::to_string(task.attempt);
        return attempt == words[2] ? "" : "attempt " + attempt;
      }
      if (words[1] == "restarts") {
        const int restarts = task.restarts + task.in_place;
        return restarts == std::stoi(words[2]) ? "" : fmt::format("{} restarts", restarts);
      }
      const std::string state = kNames[size_t(task.state)];
      return state == words[1] ? "" : id.name() + " is " + state;
    }
    return "no such task";
  }

  const JobSpec spec_;
  FakeLoop loop_;
  FakePlatform platform_;
  Notes notes_;
  std::unique_ptr<JobController> controller_;
};

inline void play(const Rule& rule, bool replaced) {
  Play play(rule);
  play.replace_controller();
  for (const std::string& event : split(rule.events, ';')) {
    play.happen(event);
    if (replaced) play.replace_controller();
  }
  for (const std::string& expected : split(rule.expected, ';')) {
    EXPECT_EQ(play.mismatch(expected), "") << "expected: " << expected;
  }
  EXPECT_FALSE(play.doubled());
}

inline std::string test_name(const testing::TestParamInfo<std::tuple<Rule, bool>>& info) {
  std::string name = std::get<0>(info.param).name;
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(c); }, '_');
  return name + (std::get<1>(info.param) ? "_over_many_controllers" : "");
}

}  // namespace capstan::jobs
