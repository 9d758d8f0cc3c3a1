// TFJobs of a cluster: what they print, and what becomes of them.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/printable.h"
#include "jobs/k8s/cluster_jobs.h"
#include "jobs/k8s/job_watch.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/pod_logs.h"
#include "jobs/local/task_log.h"
#include "jobs/report.h"
#include "jobs/terminal.h"
#include "main/job_commands.h"

namespace capstan::cli::there {
namespace {

namespace k8s = jobs::k8s;
using nlohmann::json;

void note(const std::string& text) { std::fputs((printable(text) + "\n").c_str(), stderr); }

// Lines of tasks as `capstan run` shows them.
class TaskLines {
 public:
  explicit TaskLines(bool prefixed) : prefixed_(prefixed), prefixes_(colours_wanted()) {}
  void print(const jobs::TaskId& task, std::string_view line) {
    fmt::print("{}{}\n", prefixed_ ? prefixes_.of(task) : "",
               printable_with_colours(jobs::as_seen(line)));
    if (live_) std::fflush(stdout);
  }
  void live() { live_ = true; }

 private:
  const bool prefixed_;
  bool live_ = false;
  jobs::TaskPrefixes prefixes_;
};

void check_task(const FoundJob& job, const std::string& task) {
  if (task.empty()) return;
  std::vector<std::string> known;
  for (const k8s::ReplicaSpec& replica : k8s::seen_tf_job(job.object).replicas) {
    for (int i = 0; i < replica.replicas; ++i) {
      known.push_back(jobs::TaskId{std::string(k8s::task_name(replica.type)), i}.name());
    }
  }
  if (std::ranges::find(known, task) != known.end()) return;
  if (known.size() > 8) known.resize(8), known.emplace_back("…");
  throw not_found("job {} has no task {}; it has {}", job.name(), task, fmt::join(known, ", "));
}

// What a job without a sign of life waits for.
std::string waits_for(const json& job, const std::string& name) {
  if (k8s::state_of(job) != "Pending") return fmt::format("{} is {}", name, k8s::state_of(job));
  return fmt::format(
      "{} is taken up by nobody yet: does an operator run in the cluster? (capstan operator; "
      "kubectl get pods -n capstan)",
      name);
}

// Of pods that were suspended, or of a job of the name that was deleted.
std::string kept_of(const FoundJob& job) {
  const std::string name = k8s::text_at(k8s::at(job.object, "metadata"), "name");
  for (const jobs::ShelvedJob& one : jobs::users_shelf().list()) {
    if (!one.record || one.record->name != name || one.record->cluster.empty()) continue;
    return fmt::format("; what was kept earlier: capstan logs {}", one.id);
  }
  return "";
}

std::string word_of(k8s::JobPhase phase) {
  std::string word(k8s::phase_name(phase));
  word[0] = char(word[0] | 0x20);
  return word;
}

constexpr k8s::JobPhase kPhases[] = {k8s::JobPhase::kCreated,    k8s::JobPhase::kRunning,
                                     k8s::JobPhase::kRestarting, k8s::JobPhase::kSuspended,
                                     k8s::JobPhase::kSucceeded,  k8s::JobPhase::kFailed};

bool is_reached(const k8s::JsonRef& job, const std::string& condition) {
  if (!job) return condition == "deleted";
  const k8s::TfJobStatus status = k8s::seen_status(*job);
  if (condition == "ended") return status.ended();
  for (k8s::JobPhase phase : kPhases) {
    if (word_of(phase) != condition) continue;
    // One that has run and ended did run.
    const bool was = phase == k8s::JobPhase::kCreated || phase == k8s::JobPhase::kRunning;
    return status.is(phase) || (was && status.ended() && status.condition(phase));
  }
  return false;
}

// It never comes any more.
bool is_too_late(const k8s::JsonRef& job, const std::string& condition) {
  return !job || (condition != "deleted" && k8s::seen_status(*job).ended());
}

std::string end_text(const k8s::JsonRef& job) {
  if (!job) return "deleted";
  const k8s::TfJobStatus status = k8s::seen_status(*job);
  const std::string state = k8s::state_of(*job);
  const k8s::Condition* failed = status.condition(k8s::JobPhase::kFailed);
  return failed && failed->is ? state + ": " + failed->message : state;
}

int code_of(const k8s::JsonRef& job, const std::string& condition) {
  if (condition != "ended") return is_reached(job, condition) ? 0 : jobs::kExitFailure;
  return job && k8s::seen_status(*job).is(k8s::JobPhase::kSucceeded) ? 0 : jobs::kExitFailure;
}

int said_end(const std::string& name, const k8s::JsonRef& job, const std::string& condition) {
  fmt::print("{}\n", printable(fmt::format("{}: {}", name, end_text(job))));
  return code_of(job, condition);
}

void follow_to_the_end(const FoundJob& job, k8s::JobWatch& watch, const k8s::LogChoice& choice,
                       bool prefixed) {
  TaskLines lines(prefixed);
  lines.live();
  const k8s::LogFollow logs(
      job.cluster->client(), watch, choice,
      [&](const jobs::TaskId& task, std::string_view line) { lines.print(task, line); });
  watch.wait(
      [&] { return logs.quiet(); }, 0,
      [&] { return watch.job() ? waits_for(*watch.job(), job.name()) : job.name() + " is gone"; });
}

}  // namespace

int logs(const FoundJob& job, const LogsOptions& options) {
  check_task(job, options.task);
  const k8s::LogChoice choice{options.task, options.tail};
  if (options.follow) {
    k8s::JobWatch watch(job.cluster->client(), job.object, k8s::JobWatch::Pods::kWatched);
    follow_to_the_end(job, watch, choice, options.task.empty());
    return 0;
  }
  TaskLines lines(options.task.empty());
  const int read = k8s::read_logs(
      job.cluster->client(), k8s::replica_pods(job.cluster->client(), job.object), choice,
      [&](const jobs::TaskId& task, std::string_view line) { lines.print(task, line); });
  if (read == 0) note("nothing is printed: " + waits_for(job.object, job.name()) + kept_of(job));
  return 0;
}

int follow(const FoundJob& job, bool quiet) {
  k8s::JobWatch watch(job.cluster->client(), job.object, k8s::JobWatch::Pods::kWatched);
  if (!quiet) {
    follow_to_the_end(job, watch, {}, true);
    return said_end(job.name(), watch.job(), "ended");
  }
  watch.wait([&] { return is_too_late(watch.job(), "ended"); }, 0,
             [&] { return waits_for(*watch.job(), job.name()); });
  return said_end(job.name(), watch.job(), "ended");
}

int wait(const FoundJob& job, const WaitOptions& options) {
  k8s::JobWatch watch(job.cluster->client(), job.object, k8s::JobWatch::Pods::kNot);
  const auto done = [&] {
    return is_reached(watch.job(), options.condition) ||
           is_too_late(watch.job(), options.condition);
  };
  const bool came = watch.wait(done, options.timeout, [&] {
    return fmt::format("waiting for {} to be {}; {}", job.name(), options.condition,
                       waits_for(*watch.job(), "it"));
  });
  if (came) return said_end(job.name(), watch.job(), options.condition);
  note(fmt::format("{}: not {} after {} s: {}", job.name(), options.condition, options.timeout,
                   waits_for(*watch.job(), "it")));
  return jobs::kExitTimeout;
}

}  // namespace capstan::cli::there
