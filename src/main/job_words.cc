// The words for jobs: each finds its jobs, and does to them what their place asks for.

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/printable.h"
#include "main/job_commands.h"

namespace capstan::cli {
namespace {

std::vector<FoundJob> found(const Where& where, const std::vector<std::string>& names) {
  JobFinder finder(where);
  std::vector<FoundJob> all;
  for (const std::string& name : names) all.push_back(finder.find(name));
  return all;
}

FoundJob in_cluster(const Where& where, const std::string& name, std::string_view word,
                    std::string_view instead) {
  FoundJob job = JobFinder(where).find(name);
  if (!job.here) return job;
  throw failed_precondition("job {} is of this machine, where a job cannot be {}: {}", job.name(),
                            word, instead);
}

// The worst of them.
int all_of(const std::vector<int>& codes) {
  int worst = 0;
  for (int code : codes) worst = worst == 0 ? code : worst;
  return worst;
}

int list_here_and_there(const JobsOptions& options) {
  const int code = here::list(options.json);
  std::fflush(stdout);
  if (!uses_cluster(options.where)) return code;
  try {
    Cluster cluster(options.where);
    if (!options.json) fmt::print("\n{}:\n", printable(cluster.name()));
    return there::list(cluster, options);
  } catch (const Error& error) {
    fmt::print(stderr, "note: only this machine was asked: {}\n", printable(error.message()));
    return code;
  }
}

void suspend_all(const JobsOptions& options, bool suspended) {
  const char* word = suspended ? "suspended" : "resumed";
  const char* instead = suspended ? "capstan stop ends it" : "start it anew";
  for (const std::string& name : options.jobs) {
    there::suspend(in_cluster(options.where, name, word, instead), suspended);
  }
}

}  // namespace

int show_jobs(const JobsOptions& options) {
  if (!options.jobs.empty()) {
    std::vector<int> codes;
    for (const FoundJob& job : found(options.where, options.jobs)) {
      if (job.here && options.yaml) {
        throw invalid_argument(
            "job {} is of this machine, and has no YAML: --json shows its record", job.name());
      }
      codes.push_back(job.here ? here::show(*job.here, options.json) : there::show(job, options));
    }
    return all_of(codes);
  }
  if (!options.where.names_cluster()) return list_here_and_there(options);
  uses_cluster(options.where);
  Cluster cluster(options.where);
  return there::list(cluster, options);
}

int show_status(const JobsOptions& options) { return show_jobs(options); }

int show_logs(const LogsOptions& options) {
  const FoundJob job = JobFinder(options.where).find(options.job);
  return job.here ? here::logs(*job.here, options) : there::logs(job, options);
}

// All are asked before one is waited for.
int stop_jobs(const JobsOptions& options) {
  const std::vector<FoundJob> all = found(options.where, options.jobs);
  for (const FoundJob& job : all) {
    if (job.here) here::ask_to_stop(*job.here);
  }
  for (const FoundJob& job : all) {
    if (job.here) here::wait_until_stopped(job.here->id);
    if (!job.here) there::stop(job);
  }
  return 0;
}

int remove_jobs(const JobsOptions& options) {
  for (const FoundJob& job : found(options.where, options.jobs)) {
    here::remove(*job.here);
  }
  return 0;
}

int delete_jobs(const DeleteOptions& options) {
  for (const FoundJob& job : found(options.where, options.jobs)) {
    if (!job.here) {
      there::remove(job, options);
      continue;
    }
    here::ask_to_stop(*job.here);
    if (!job.here->over()) here::wait_until_stopped(job.here->id);
    here::remove(jobs::users_shelf().find(job.here->id));
  }
  return 0;
}

int wait_for_jobs(const WaitOptions& options) {
  std::vector<int> codes;
  for (const FoundJob& job : found(options.where, options.jobs)) {
    codes.push_back(job.here ? here::wait(*job.here, options) : there::wait(job, options));
  }
  return all_of(codes);
}

int scale_jobs(const ScaleOptions& options) {
  return there::scale(in_cluster(options.where, options.job, "scaled",
                                 "stop it, and start it with another number of tasks"),
                      options);
}

int suspend_jobs(const JobsOptions& options) { return suspend_all(options, true), 0; }

int resume_jobs(const JobsOptions& options) { return suspend_all(options, false), 0; }

}  // namespace capstan::cli
