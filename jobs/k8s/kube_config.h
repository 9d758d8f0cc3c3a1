#pragma once

// Where the API server is and who we are: from kubeconfig files, as kubectl reads them, or from
// what a pod finds about its own cluster. Every mistake names the file, the place in it and the
// remedy.

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"

namespace capstan::jobs::k8s {

struct KubeConfig {
  std::string server;             // "https://10.0.0.1:6443", without a slash at its end
  std::string space = "default";  // of whatever names none
  // PEM texts.
  std::string ca;
  bool insecure = false;
  std::string tls_server_name;
  std::string proxy;
  std::string certificate, key;
  std::string token, token_file;  // the file wins, and is read again now and then: tokens expire
  std::string source;             // for messages: "/home/u/.kube/config, context kind"
};

// What the process was started with.
struct KubeEnvironment {
  std::string kubeconfig;  // KUBECONFIG: paths with colons between them
  std::string home;
  std::string service_host, service_port;  // KUBERNETES_SERVICE_HOST and _PORT: we are in a pod
  std::string account = "/var/run/secrets/kubernetes.io/serviceaccount";  // its folder
};
KubeEnvironment kube_environment();

struct KubeChoice {
  std::string path = {};     // --kubeconfig; empty: KUBECONFIG, else ~/.kube/config
  std::string context = {};  // --context; empty: the file's own
  std::string space = {};    // --namespace
};

// From the files if there are any, else from the pod. Throws NotFound if there is neither,
// InvalidArgument for a file that makes no sense, Unimplemented for credentials of kinds that this
// program does not know.
KubeConfig load_kube_config(const KubeChoice& choice, const KubeEnvironment& environment,
                            Files& files = posix_files());
// There are files to read, or we are in a pod that has an account: else jobs run on this machine.
bool has_kube_config(const KubeChoice& choice, const KubeEnvironment& environment,
                     Files& files = posix_files());

}  // namespace capstan::jobs::k8s
