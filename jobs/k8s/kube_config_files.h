#pragma once

// kubeconfig files, merged as kubectl merges them: the first file that has a name wins.

#include <string>
#include <vector>

#include "base/files.h"
#include "jobs/k8s/kube_config.h"

namespace capstan::jobs::k8s {

KubeConfig read_kubeconfig(const std::vector<std::string>& paths, const KubeChoice& choice,
                           Files& files);

}  // namespace capstan::jobs::k8s
