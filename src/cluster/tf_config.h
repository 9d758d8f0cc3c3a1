#pragma once

// TF_CONFIG: who a task is, as launchers of TensorFlow programs say it.

#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster_spec.h"

namespace capstan {

struct TaskRole {
  ClusterSpec cluster;  // empty: the program runs alone
  std::string job = "worker";
  int task = 0;

  bool alone() const { return cluster.empty(); }
  bool is_server() const { return job == "ps"; }
  // The one that initialises and saves: the chief (or "master") where there is one, else worker 0.
  bool is_chief() const;
};

// Throws InvalidArgument that names what is wrong with cluster or task. Empty, {} and keys that
// mean nothing to us are fine.
TaskRole parse_tf_config(std::string_view text);
// Of this process; alone where the variable is not set.
TaskRole role_from_environment();

}  // namespace capstan
