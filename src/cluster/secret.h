#pragma once

// The secret that the tasks of one job prove to each other.

#include <string>
#include <string_view>

#include "cluster/cluster_spec.h"

namespace capstan {

// Where tasks that were started by hand find their user's secret: $HOME/.config/capstan/secret.
std::string user_secret_path();

// The secret of a job whose launcher gave none: derived from the user's secret file (made, 0600,
// with random bytes when it is not there) and the spec, so that two jobs of one user stay apart.
// Throws PermissionDenied for a file that others can read.
std::string derive_secret(const std::string& file, const ClusterSpec& cluster);

// What a client proves that knows a task's address and nothing of its job: derived from the same
// file alone. Throws as derive_secret() does.
std::string client_secret(const std::string& file);

}  // namespace capstan
