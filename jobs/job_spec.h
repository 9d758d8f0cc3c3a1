#pragma once

// What is to be run, said once for every platform: how many tasks of which jobs, the program, and
// how each task learns its role (TF_CONFIG, role flags, templates in the arguments).

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/memory_size.h"

namespace capstan::jobs {

struct TaskId {
  std::string job;
  int index = 0;

  std::string name() const { return job + "/" + std::to_string(index); }
  auto operator<=>(const TaskId&) const = default;
};

// What a task is for decides when it is expected to end. Trainers are workers, chief and master.
enum class Role { kServer, kTrainer, kEvaluator };
Role role_of(std::string_view job);

struct TaskGroup {
  std::string job;
  int count = 0;
};

// When the training is over: every trainer has ended or only serves; or the chief has ended (the
// first worker where there is none), and the others may be stopped.
//
// The other three look at exit codes alone: a task counts once it has ended with 0, and what fails
// after the success is no failure. kLead: every chief and master; where there is none the first
// worker, or all workers. kWorkers: all workers. kShare: JobSpec::share percent of the workers.
enum class SuccessRule { kTrainers, kChief, kLead, kWorkers, kShare };
inline bool counts_ends(SuccessRule rule) { return rule >= SuccessRule::kLead; }

// Which failures are worth another try. Passing ones are a signal, a lost peer, a lost machine; an
// own error is not tried again once it came twice without a step in between.
//
// The other three look at exit codes alone. kExitCode: 128 and above are tried again, 1 to 127 and
// too much memory are final. kEveryFailure: whatever is not 0. kAlways: that, too.
enum class RestartPolicy { kNever, kPassing, kOnFailure, kExitCode, kEveryFailure, kAlways };
inline constexpr int kNoLimit = std::numeric_limits<int>::max();

// What becomes of tasks that still run once it is known how the job ends: they are stopped, or left
// to whoever made the platform.
enum class AtEnd { kStop, kLeave };

// How a task is handed the job's secret, which is never in its environment, arguments or log:
// behind an inherited descriptor, or in a file that only its user reads, where no descriptor
// reaches it.
enum class SecretBy { kDescriptor, kFile };

// A path that ends in .py runs with `python` and sees Capstan as `tensorflow`; anything else is an
// executable and runs as it is.
struct Program {
  std::string path;
  std::vector<std::string> args;
  std::string python;
  std::string python_path;

  bool is_python() const { return path.ends_with(".py"); }
};

struct TaskSpec;

// Job name to addresses ("host:port"), in the order of the groups. Evaluators are not in it.
using Cluster = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct JobSpec {
  std::vector<TaskGroup> groups;
  Program program;
  std::vector<std::pair<std::string, std::string>> env;
  // name[:port]=address[:port]; the right side may also be a task of this job, as in ps/0.
  std::vector<std::string> resolve;
  std::optional<double> timeout_seconds;
  int64_t max_steps = 0;  // 0: no limit
  std::string name;       // for people; empty: that of the program
  std::string id;         // kJobIdBytes as hex; empty: one is made
  RestartPolicy restart = RestartPolicy::kOnFailure;
  // How often something may fail and be started again, in the whole job and for whatever cause.
  // kNoLimit: as often as it takes.
  int restarts = 0;
  // Seconds. What fails so soon after a failure that was counted belongs to it; 0: every one
  // counts.
  double incident = 10;
  // A task that was removed, or whose machine is gone, comes back whatever its policy says, and is
  // not counted.
  bool replace_lost = false;
  // When one comes back all that have not ended well do, after the last of them has ended.
  bool restart_together = false;
  SuccessRule success = SuccessRule::kTrainers;
  int share = 100;  // percent, for SuccessRule::kShare
  // A worker that fails for good does not fail the job while so many others are left.
  std::optional<int> least_workers;
  AtEnd at_end = AtEnd::kStop;
  bool wait_for_evaluator = false;  // until it ends, instead of for a minute
  std::vector<MemoryRule> memory;   // of each task; none: as much as there is
  SecretBy secret = SecretBy::kDescriptor;
  // The last word on each task, for doors whose tasks differ in more than their roles: program,
  // folder, input, files, restarts. May be empty.
  std::function<void(const Cluster& cluster, TaskSpec& task)> adjust;
};

// All tasks in the order in which they start: servers first.
std::vector<TaskId> tasks_of(const JobSpec& spec);

// Throws InvalidArgument: no trainer, no task of a job, a job named twice, a bad --env or
// --resolve, memory for a job that is not there. Where only ends count the first two may be.
void check(const JobSpec& spec);

// Bytes that a task of this job may have; nothing: no limit.
std::optional<int64_t> memory_limit(const JobSpec& spec, std::string_view job);

// The value of TF_CONFIG for one task.
std::string tf_config(const Cluster& cluster, const TaskId& task);

// JSON object of flag name to text: job_name, task_index, ps_hosts, worker_hosts, …_hosts.
std::string role_flags(const Cluster& cluster, const TaskId& task);

// `{job_name}`, `{task_index}`, `{ps_hosts}`, `{worker_hosts}`, `{chief_hosts}` replaced; other
// braces are left as they are.
std::string fill_template(std::string_view text, const Cluster& cluster, const TaskId& task);

// The rules of --resolve with tasks replaced by their addresses, joined by commas.
std::string resolve_list(const JobSpec& spec, const Cluster& cluster);

}  // namespace capstan::jobs
