#include "jobs/job_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "base/settings.h"
#include "jobs/json_text.h"

namespace capstan::jobs {
namespace {

std::string hosts_of(const Cluster& cluster, std::string_view job) {
  for (const auto& [name, addresses] : cluster) {
    if (name == job) return fmt::format("{}", fmt::join(addresses, ","));
  }
  return "";
}

// Flag name to text. A job that the cluster lacks has an empty list, as programs' defaults are.
std::vector<std::pair<std::string, std::string>> role_values(const Cluster& cluster,
                                                             const TaskId& task) {
  std::vector<std::pair<std::string, std::string>> values = {
      {"job_name", task.job}, {"task_index", std::to_string(task.index)}};
  for (const char* job : {"ps", "worker", "chief", "master"}) {
    values.emplace_back(std::string(job) + "_hosts", hosts_of(cluster, job));
  }
  return values;
}

// "ps/0" as an address, or nothing if the text does not name a task.
std::optional<std::string> task_address(std::string_view text, const Cluster& cluster) {
  for (const auto& [job, addresses] : cluster) {
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (text == fmt::format("{}/{}", job, i)) return addresses[i];
    }
  }
  return std::nullopt;
}

std::string resolve_rule(std::string_view text, const Cluster& cluster) {
  size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    if (auto address = task_address(text.substr(equals + 1), cluster)) {
      return fmt::format("{}={}", text.substr(0, equals), *address);
    }
  }
  return to_string(parse_resolve_rule(text));
}

Cluster cluster_without_addresses(const JobSpec& spec) {
  Cluster cluster;
  for (const TaskGroup& group : spec.groups) {
    if (role_of(group.job) == Role::kEvaluator) continue;
    cluster.emplace_back(group.job,
                         std::vector<std::string>(static_cast<size_t>(group.count), "a:1"));
  }
  return cluster;
}

void check_groups(const JobSpec& spec) {
  const bool may_be_none = counts_ends(spec.success);
  int trainers = 0;
  std::vector<std::string> seen;
  for (const auto& [job, count] : spec.groups) {
    if (count < (may_be_none ? 0 : 1)) {
      throw invalid_argument("job {}: {} tasks; give 1 or more", job, count);
    }
    if (std::find(seen.begin(), seen.end(), job) != seen.end()) {
      throw invalid_argument("job {} is named twice", job);
    }
    seen.push_back(job);
    if (role_of(job) == Role::kTrainer) trainers += count;
  }
  if (trainers == 0 && !may_be_none) {
    throw invalid_argument("nobody trains: give --workers 1 or more, or --chief");
  }
}

void check_memory(const JobSpec& spec) {
  std::vector<std::string> jobs, seen;
  for (const TaskGroup& group : spec.groups) jobs.push_back(group.job);
  for (const MemoryRule& rule : spec.memory) {
    const bool known = rule.job.empty() || std::ranges::find(jobs, rule.job) != jobs.end();
    if (!known) {
      throw invalid_argument("--memory {}=…: this job has no {}, only {}{}", rule.job, rule.job,
                             fmt::join(jobs, ", "), did_you_mean(rule.job, jobs));
    }
    if (std::ranges::find(seen, rule.job) != seen.end()) {
      throw invalid_argument("--memory is given twice for {}",
                             rule.job.empty() ? "every task" : rule.job);
    }
    seen.push_back(rule.job);
  }
}

}  // namespace

Role role_of(std::string_view job) {
  if (job == "ps") return Role::kServer;
  return job == "evaluator" ? Role::kEvaluator : Role::kTrainer;
}

std::vector<TaskId> tasks_of(const JobSpec& spec) {
  std::vector<TaskId> tasks;
  for (Role role : {Role::kServer, Role::kTrainer, Role::kEvaluator}) {
    for (const auto& [job, count] : spec.groups) {
      if (role_of(job) != role) continue;
      for (int i = 0; i < count; ++i) tasks.push_back({job, i});
    }
  }
  return tasks;
}

void check(const JobSpec& spec) {
  check_groups(spec);
  check_memory(spec);
  resolve_list(spec, cluster_without_addresses(spec));
  for (const auto& [name, value] : spec.env) {
    if (name.empty()) throw invalid_argument("--env ={}: expected NAME=VALUE", value);
  }
  if (spec.max_steps < 0) throw invalid_argument("--max-steps {}: give 1 or more", spec.max_steps);
  if (spec.restarts < 0) throw invalid_argument("--restart {}: give 0 or more", spec.restarts);
  if (spec.timeout_seconds && !(*spec.timeout_seconds > 0)) {  // nor nan
    throw invalid_argument("--timeout {}: give seconds above 0", *spec.timeout_seconds);
  }
}

std::optional<int64_t> memory_limit(const JobSpec& spec, std::string_view job) {
  std::optional<int64_t> limit;
  for (const MemoryRule& rule : spec.memory) {
    if (rule.job == job || (rule.job.empty() && !limit)) limit = rule.bytes;
  }
  return limit;
}

std::string tf_config(const Cluster& cluster, const TaskId& task) {
  JsonObject jobs, role;
  for (const auto& [job, addresses] : cluster) jobs.add_json(job, json_strings(addresses));
  role.add("type", task.job).add("index", task.index);
  return JsonObject().add_json("cluster", jobs.text()).add_json("task", role.text()).text();
}

std::string role_flags(const Cluster& cluster, const TaskId& task) {
  JsonObject flags;
  for (const auto& [name, value] : role_values(cluster, task)) flags.add(name, value);
  return flags.text();
}

std::string fill_template(std::string_view text, const Cluster& cluster, const TaskId& task) {
  std::string out(text);
  for (const auto& [name, value] : role_values(cluster, task)) {
    std::string key = "{" + name + "}";
    for (size_t at = 0; (at = out.find(key, at)) != std::string::npos; at += value.size()) {
      out.replace(at, key.size(), value);
    }
  }
  return out;
}

std::string resolve_list(const JobSpec& spec, const Cluster& cluster) {
  std::vector<std::string> rules;
  for (const std::string& text : spec.resolve) rules.push_back(resolve_rule(text, cluster));
  return fmt::format("{}", fmt::join(rules, ","));
}

}  // namespace capstan::jobs
