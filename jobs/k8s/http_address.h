#pragma once

// Where things stand on an API server.

#include <string>

#include "jobs/k8s/kube_error.h"

namespace capstan::jobs::k8s {

// "https://h:1/api/v1/namespaces/train/pods/p/status"
std::string address_of(const std::string& base, const Asked& asked);
// "https://h/x" -> "h:443"
std::string host_and_port(const std::string& server);
// The same server by another name, with its port; the server itself for an empty one.
std::string with_host(const std::string& server, const std::string& name);

}  // namespace capstan::jobs::k8s
