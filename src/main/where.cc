#include "main/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/printable.h"
#include "jobs/k8s/json_at.h"

namespace capstan::cli {
namespace {

namespace k8s = jobs::k8s;
using nlohmann::json;

// For a cluster that nobody named: somebody may only want a job of this machine.
constexpr double kPatience = 3;  // seconds

void say(std::string_view text) {
  std::fputs(fmt::format("{}\n", printable(std::string(text))).c_str(), stderr);
}

std::string space_of(const Where& where, const k8s::KubeConfig& config) {
  return where.all_spaces ? "" : config.space;
}

// Those of exactly this name.
std::vector<jobs::ShelvedJob> named(const std::string& name) {
  std::vector<jobs::ShelvedJob> all = jobs::users_shelf().list();
  std::erase_if(all, [&](const jobs::ShelvedJob& job) {
    return job.id != name && (!job.record || job.record->name != name);
  });
  return all;
}

}  // namespace

Cluster::Cluster(const Where& where)
    : api_(loop_, k8s::load_kube_config(where.cluster, k8s::kube_environment())),
      space_(space_of(where, api_.config())),
      client_(loop_, api_, say) {}

std::string Cluster::name() const {
  if (space_.empty()) return fmt::format("all namespaces of {}", server());
  return fmt::format("namespace {} of {}", space_, server());
}

std::optional<json> Cluster::find(const std::string& job, double timeout) {
  return client_.find(k8s::kTfJobs, {space_, job}, timeout);
}

bool uses_cluster(const Where& where) {
  if (where.local && where.names_cluster()) {
    throw invalid_argument(
        "--local is this machine, and --kubeconfig, --context and --namespace a cluster: which one "
        "is it to be?");
  }
  return !where.local &&
         (where.names_cluster() || k8s::has_kube_config(where.cluster, k8s::kube_environment()));
}

std::string FoundJob::name() const {
  if (here) return here->id;
  const json& metadata = k8s::at(object, "metadata");
  return k8s::text_at(metadata, "namespace") + "/" + k8s::text_at(metadata, "name");
}

const std::shared_ptr<Cluster>& JobFinder::cluster() {
  if (!cluster_) cluster_ = std::make_shared<Cluster>(where_);
  return cluster_;
}

FoundJob JobFinder::find(const std::string& text) {
  if (!uses_cluster(where_)) return find_here(text, "");
  return where_.names_cluster() ? find_in_cluster(text) : find_anywhere(text);
}

FoundJob JobFinder::find_in_cluster(const std::string& text) {
  std::optional<json> object = cluster()->find(text);
  if (object) return {.cluster = cluster(), .object = std::move(*object)};
  throw not_found("no job {} in {}; capstan get lists them with the same options", text,
                  cluster()->name());
}

FoundJob JobFinder::find_anywhere(const std::string& text) {
  const std::vector<jobs::ShelvedJob> same = named(text);
  if (std::ranges::count(same, text, &jobs::ShelvedJob::id) > 0) return find_here(text, "");
  std::optional<json> object;
  std::string elsewhere;
  try {
    object = cluster()->find(text, kPatience);
    elsewhere = "nor in " + cluster()->name();
  } catch (const Error& error) {
    elsewhere = "and the cluster cannot be asked: " + error.message();
    if (!same.empty()) say(fmt::format("note: only this machine was asked: {}", error.message()));
  }
  if (!object) return find_here(text, elsewhere);
  if (std::ranges::count_if(same, &jobs::ShelvedJob::alive) > 0) {
    throw invalid_argument(
        "{0} runs on this machine, and is a job in {1} too: say --local, or --namespace {2}", text,
        cluster()->name(), cluster()->space());
  }
  return {.cluster = cluster(), .object = std::move(*object)};
}

FoundJob JobFinder::find_here(const std::string& text, const std::string& elsewhere) {
  try {
    return {.here = jobs::users_shelf().find(text)};
  } catch (const Error& error) {
    if (error.code() != Code::kNotFound || elsewhere.empty()) throw;
    throw not_found("{} (on this machine, {})", error.message(), elsewhere);
  }
}

}  // namespace capstan::cli
