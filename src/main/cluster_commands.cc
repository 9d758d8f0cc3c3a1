// TFJobs of a cluster: shown, scaled, suspended, deleted.

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/printable.h"
#include "jobs/k8s/cluster_jobs.h"
#include "jobs/k8s/cluster_view.h"
#include "jobs/k8s/job_watch.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/kept_job.h"
#include "jobs/k8s/yaml_text.h"
#include "main/job_commands.h"

namespace capstan::cli::there {
namespace {

namespace k8s = jobs::k8s;
using nlohmann::json;

void say(const std::string& text) { fmt::print("{}\n", printable(text)), std::fflush(stdout); }
void note(const std::string& text) { std::fputs((printable(text) + "\n").c_str(), stderr); }

std::string text_of(const json& object) {
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

// What a person may not see of a job is left out, and said.
std::vector<json> what_may_be_seen(const std::function<std::vector<json>()>& ask) {
  try {
    return ask();
  } catch (const Error& error) {
    if (error.code() != Code::kPermissionDenied) throw;
    note(error.message());
    return {};
  }
}

std::vector<json> events_of(Cluster& cluster, const json& job) {
  const std::string fields = fmt::format("involvedObject.name={},involvedObject.kind=TFJob",
                                         k8s::text_at(k8s::at(job, "metadata"), "name"));
  std::vector<json> events = cluster.client().list(
      k8s::kEvents, k8s::text_at(k8s::at(job, "metadata"), "namespace"), "", fields);
  const std::string uid = k8s::text_at(k8s::at(job, "metadata"), "uid");
  std::erase_if(events, [&](const json& one) {
    return k8s::text_at(k8s::at(one, "involvedObject"), "uid") != uid;
  });
  return events;
}

std::vector<json> pods_of(const FoundJob& job) {
  return what_may_be_seen([&] { return k8s::replica_pods(job.cluster->client(), job.object); });
}

// Before pods go.
void keep_logs(const FoundJob& job) {
  const std::vector<json> pods = pods_of(job);
  jobs::JobShelf shelf = jobs::users_shelf();
  const auto id =
      k8s::keep_job(job.cluster->client(), job.object, pods, job.cluster->server(), shelf);
  if (id) note(fmt::format("its logs are kept here: capstan logs {}", *id));
}

std::string pods_left(const k8s::JobWatch& watch) {
  std::string names;
  for (const auto& [uid, pod] : watch.pods()) {
    names += (names.empty() ? "" : ", ") + pod.name.name;
  }
  return names.empty() ? "the job itself" : names;
}

// `gone`: the job too.
void wait_until_empty(const FoundJob& job, bool gone) {
  k8s::JobWatch watch(job.cluster->client(), job.object, k8s::JobWatch::Pods::kWatched);
  watch.wait([&] { return watch.pods().empty() && (!gone || !watch.job()); }, 0,
             [&] { return fmt::format("{}: waiting for {} to go", job.name(), pods_left(watch)); });
}

}  // namespace

int list(Cluster& cluster, const JobsOptions& options) {
  const std::vector<json> all = cluster.client().list(k8s::kTfJobs, cluster.space());
  if (options.json) {
    for (const json& job : all) fmt::print("{}\n", k8s::tf_job_line_json(job, wall_clock()));
  } else if (options.yaml) {
    fmt::print("{}", printable(k8s::yaml_text({{"kind", "List"}, {"items", all}})));
  } else if (all.empty()) {
    fmt::print("no jobs in {}; capstan apply makes one\n", printable(cluster.name()));
  } else {
    fmt::print("{}", k8s::tf_jobs_table(all, cluster.space().empty(), wall_clock(), table_width()));
  }
  return 0;
}

int show(const FoundJob& job, const JobsOptions& options) {
  if (options.json) return fmt::print("{}", text_of(job.object)), 0;
  if (options.yaml) return fmt::print("{}", printable(k8s::yaml_text(job.object))), 0;
  const std::vector<json> events =
      what_may_be_seen([&] { return events_of(*job.cluster, job.object); });
  fmt::print("{}", k8s::tf_job_text(job.object, pods_of(job), events, wall_clock(), table_width()));
  return 0;
}

int scale(const FoundJob& job, const ScaleOptions& options) {
  const std::vector<std::string> changes =
      k8s::scale_job(job.cluster->client(), job.object, options.replicas);
  for (const std::string& change : changes) say(fmt::format("{}: {}", job.name(), change));
  if (changes.empty()) say(fmt::format("{}: is as it was", job.name()));
  if (!changes.empty() && !k8s::seen_tf_job(job.object).dynamic_workers) {
    note(
        "note: tasks that run keep the TF_CONFIG they were started with; with "
        "spec.enableDynamicWorker they need not know each other");
  }
  return 0;
}

int suspend(const FoundJob& job, bool suspended) {
  if (suspended) keep_logs(job);
  const bool changed = k8s::suspend_job(job.cluster->client(), job.object, suspended);
  const std::string now = suspended ? "suspended" : "resumed";
  say(fmt::format("{}: {}{}", job.name(), changed ? "" : "was already ", now));
  if (suspended && changed) {
    note(fmt::format("its pods go, and it stays: capstan resume {} goes on",
                     k8s::text_at(k8s::at(job.object, "metadata"), "name")));
  }
  return 0;
}

int stop(const FoundJob& job) {
  if (k8s::seen_status(job.object).ended()) {
    say(fmt::format("{}: {}", job.name(), k8s::state_of(job.object)));
    return 0;
  }
  suspend(job, true);
  wait_until_empty(job, /*gone=*/false);
  return 0;
}

int remove(const FoundJob& job, const DeleteOptions& options) {
  if (options.keep_logs) keep_logs(job);
  k8s::delete_job(job.cluster->client(), job.object);
  if (options.wait) wait_until_empty(job, /*gone=*/true);
  say(fmt::format("{}: {}", job.name(), options.wait ? "deleted" : "is being deleted"));
  return 0;
}

}  // namespace capstan::cli::there
