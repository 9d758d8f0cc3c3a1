#include "main/cluster_apply.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/printable.h"
#include "jobs/k8s/cluster_jobs.h"
#include "jobs/k8s/json_at.h"
#include "jobs/report.h"
#include "main/job_commands.h"

namespace capstan::cli {
namespace {

namespace k8s = jobs::k8s;
using nlohmann::json;

std::string_view word_of(k8s::Applied::What what) {
  switch (what) {
    case k8s::Applied::What::kCreated: return "created";
    case k8s::Applied::What::kChanged: return "changed";
    case k8s::Applied::What::kUnchanged: break;
  }
  return "unchanged";
}

// The namespace that the file names is the one that -n names, if both do.
bool say_other_namespace(const JobInFile& job, const Where& where) {
  const std::string own = k8s::text_at(k8s::at(*job.document.json, "metadata"), "namespace");
  const std::string& wanted = where.cluster.space;
  if (own.empty() || wanted.empty() || own == wanted) return false;
  const std::string text = fmt::format(
      "metadata.namespace: Invalid: is {}, and --namespace says {}; leave one of them out", own,
      wanted);
  std::fputs((printable(job.placed("metadata.namespace", text)) + "\n").c_str(), stderr);
  return true;
}

void say_as_json(const FoundJob& job, const k8s::Applied& applied) {
  const json& metadata = k8s::at(job.object, "metadata");
  const json line = {{"event", "applied"},
                     {"name", k8s::text_at(metadata, "name")},
                     {"namespace", k8s::text_at(metadata, "namespace")},
                     {"what", word_of(applied.what)},
                     {"changes", applied.changes}};
  fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace));
}

void say(const FoundJob& job, const k8s::Applied& applied, const ApplyOptions& options) {
  if (options.json) return say_as_json(job, applied);
  fmt::print("{}: {}{}\n", printable(job.name()), word_of(applied.what),
             options.dry_run ? " (dry run)" : "");
  for (const std::string& change : applied.changes) fmt::print("  {}\n", printable(change));
  std::fflush(stdout);
  const bool over = applied.what != k8s::Applied::What::kCreated && !options.dry_run &&
                    k8s::seen_status(job.object).ended();
  if (!over) return;
  fmt::print(stderr,
             "note: {0} has ended ({1}), and does not run again: capstan delete it first, and its "
             "logs are kept\n",
             printable(job.name()), k8s::state_of(job.object));
}

// Null: fields were changed that must not be, which has been said.
std::optional<FoundJob> send(const JobInFile& job, const std::shared_ptr<Cluster>& cluster,
                             const ApplyOptions& options) {
  k8s::Applied applied =
      k8s::apply_job(cluster->client(), *job.document.json, cluster->space(), options.dry_run);
  for (const k8s::FieldError& error : applied.errors) {
    std::fputs((printable(job.placed(error)) + "\n").c_str(), stderr);
  }
  if (!applied.errors.empty()) return std::nullopt;
  FoundJob found{.cluster = cluster, .object = applied.object};
  say(found, applied, options);
  return found;
}

}  // namespace

int apply_in_cluster(const std::vector<JobInFile>& all, const ApplyOptions& options) {
  bool wrong = false;
  for (const JobInFile& job : all) {
    wrong |= say_errors(job) || say_other_namespace(job, options.where);
  }
  if (wrong) return jobs::kExitUsage;
  const auto cluster = std::make_shared<Cluster>(options.where);
  std::vector<FoundJob> sent;
  for (const JobInFile& job : all) {
    say_warnings(job);
    std::optional<FoundJob> found = send(job, cluster, options);
    if (!found) return jobs::kExitUsage;
    sent.push_back(std::move(*found));
  }
  int code = 0;
  for (const FoundJob& job : sent) {
    const int ended = options.follow && !options.dry_run ? there::follow(job, options.quiet) : 0;
    if (code == 0) code = ended;
  }
  return code;
}

}  // namespace capstan::cli
