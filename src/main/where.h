#pragma once

// A job is a job wherever it runs: commands find it on this machine or in a cluster.
//
//   --local                               on this machine
//   --kubeconfig, --context, -n, -A       in that cluster
//   neither                               by a full id on this machine; else a TFJob of the cluster
//                                         that is known, if one is; else on this machine
//
// A name that a job which runs here and a TFJob share is an error that asks which one is meant.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/random.h"
#include "jobs/job_shelf.h"
#include "jobs/k8s/cluster_client.h"
#include "jobs/k8s/http_api.h"
#include "jobs/poll_loop.h"
#include "main/options.h"

namespace capstan::cli {

// A cluster that is spoken with.
class Cluster {
 public:
  explicit Cluster(const Where& where);

  jobs::k8s::ClusterClient& client() { return client_; }
  const std::string& server() const { return api_.config().server; }
  // Empty: all.
  const std::string& space() const { return space_; }
  // "namespace train of https://…", for people.
  std::string name() const;
  std::optional<nlohmann::json> find(const std::string& job, double timeout = 0);

 private:
  jobs::PollLoop loop_;
  jobs::k8s::HttpApi api_;
  const std::string space_;
  jobs::k8s::ClusterClient client_;
};

// Whether commands go to a cluster when they do not name a job that is here.
bool uses_cluster(const Where& where);

// A job that somebody named: of one of the two places.
struct FoundJob {
  std::optional<jobs::ShelvedJob> here;
  std::shared_ptr<Cluster> cluster;
  nlohmann::json object;  // its TFJob, in the cluster

  // "train/mnist", or its id.
  std::string name() const;
};

// Finds jobs, with one connection for all of them.
class JobFinder {
 public:
  explicit JobFinder(Where where) : where_(std::move(where)) {}

  // Throws NotFound that names both places, or InvalidArgument that asks which of two is meant.
  FoundJob find(const std::string& text);
  // Throws if there is none.
  const std::shared_ptr<Cluster>& cluster();

 private:
  FoundJob find_in_cluster(const std::string& text);
  FoundJob find_anywhere(const std::string& text);
  FoundJob find_here(const std::string& text, const std::string& elsewhere);

  const Where where_;
  std::shared_ptr<Cluster> cluster_;
};

}  // namespace capstan::cli
