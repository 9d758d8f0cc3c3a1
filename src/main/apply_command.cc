#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "jobs/k8s/kube_time.h"
#include "jobs/k8s/local_job.h"
#include "jobs/k8s/local_status.h"
#include "main/cluster_apply.h"
#include "main/installation.h"
#include "main/job_file.h"
#include "main/options.h"
#include "main/where.h"

namespace capstan::cli {
namespace {

namespace k8s = jobs::k8s;

k8s::LocalPlan plan_of(const ApplyOptions& options) {
  const Installation installation = find_installation();
  k8s::LocalPlan plan{.env = options.env};
  plan.python = find_python(options.python, installation);
  plan.python_path = python_path_for_tasks(installation);
  for (const std::string& text : options.images) {
    plan.images.push_back(k8s::parse_local_image(text));
  }
  return plan;
}

std::string last_words(const k8s::LocalStatus& status, bool json) {
  if (!json) return "\n" + k8s::status_table(status.status());
  const nlohmann::json line = {{"event", "status"}, {"status", k8s::to_json(status.status())}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int run_one(const JobInFile& job, const k8s::LocalTfJob& local, const ApplyOptions& options) {
  say_warnings(job);
  for (const std::string& note : local.notes) fmt::print(stderr, "note: {}\n", note);
  k8s::LocalStatus status(job.job, k8s::wall_time);
  LocalRun how{.log_dir = options.log_dir,
               .json = options.json,
               .quiet = options.quiet,
               .detach = options.detach,
               .also = &status};
  how.last_words = [&](const jobs::JobReport& report) {
    status.finish(report);
    return last_words(status, options.json);
  };
  return run_here(local.spec, how);
}

// All of them are looked at before one is started.
std::vector<k8s::LocalTfJob> plan_all(std::vector<JobInFile>& all, const k8s::LocalPlan& plan) {
  std::vector<k8s::LocalTfJob> planned;
  bool wrong = false;
  for (JobInFile& job : all) {
    planned.emplace_back();
    if (job.errors.empty()) planned.back() = k8s::local_tf_job(job.job, plan, job.errors);
    wrong |= say_errors(job);
  }
  if (wrong) planned.clear();
  return planned;
}

int run_here_all(std::vector<JobInFile>& all, const ApplyOptions& options) {
  const std::vector<k8s::LocalTfJob> planned = plan_all(all, plan_of(options));
  if (planned.empty()) return jobs::kExitUsage;
  int code = 0;
  for (size_t i = 0; i < planned.size() && code < jobs::kExitSignalBase; ++i) {
    const int ended = run_one(all[i], planned[i], options);
    if (ended != 0) code = ended;
  }
  return code;
}

// What only makes sense on one of the two sides.
void check_options(const ApplyOptions& options, bool in_cluster) {
  const bool processes = !options.images.empty() || !options.env.empty() ||
                         !options.log_dir.empty() || !options.python.empty() || options.detach;
  if (in_cluster && processes) {
    throw invalid_argument(
        "--image, --env, --log-dir, --python and --detach are for jobs of this machine: add "
        "--local. In a cluster the file says it all, and apply returns at once");
  }
  if (!in_cluster && (options.dry_run || options.follow)) {
    throw invalid_argument(
        "--dry-run and --follow are for jobs of a cluster; capstan validate checks a file, and a "
        "job of this machine is followed unless --detach is given");
  }
}

}  // namespace

int apply_files(const ApplyOptions& options) {
  const bool in_cluster = uses_cluster(options.where);
  check_options(options, in_cluster);
  JobsInFiles all = read_job_files(options.files);
  for (const std::string& text : all.notes) fmt::print(stderr, "{}\n", text);
  if (in_cluster) return apply_in_cluster(all.jobs, options);
  if (!options.where.local) {
    fmt::print(stderr,
               "note: no cluster is known: the jobs run on this machine, as with --local\n");
  }
  return run_here_all(all.jobs, options);
}

}  // namespace capstan::cli
