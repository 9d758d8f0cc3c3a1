#include "jobs/k8s/kube_config.h"

#include <cstdlib>

#include "base/error.h"
#include "jobs/k8s/kube_config_files.h"

namespace capstan::jobs::k8s {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split_paths(const std::string& text) {
  std::vector<std::string> paths;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) paths.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

// Files that KUBECONFIG names need not be there, as with kubectl; one that the user names must.
std::vector<std::string> paths_of(const KubeChoice& choice, const KubeEnvironment& environment,
                                  Files& files) {
  if (!choice.path.empty()) return {choice.path};
  std::vector<std::string> paths = split_paths(environment.kubeconfig);
  if (paths.empty() && !environment.home.empty()) {
    paths.push_back(join_path(environment.home, ".kube/config"));
  }
  std::erase_if(paths, [&](const std::string& path) { return !files.exists(path); });
  return paths;
}

bool in_pod(const KubeEnvironment& environment) {
  return !environment.service_host.empty() && !environment.service_port.empty();
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string account_file(const KubeEnvironment& environment, const char* name, Files& files) {
  const std::string path = join_path(environment.account, name);
  try {
    return files.read(path);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("this pod has no service account that could be used: {}. Is "
                            "automountServiceAccountToken false?",
                            error.message()));
  }
}

KubeConfig of_the_pod(const KubeEnvironment& environment, Files& files) {
  const std::string& host = environment.service_host;
  const bool six = host.find(':') != std::string::npos;
  KubeConfig config;
  config.server = "https://" + (six ? "[" + host + "]" : host) + ":" + environment.service_port;
  config.ca = account_file(environment, "ca.crt", files);
  config.token_file = join_path(environment.account, "token");
  account_file(environment, "token", files);
  const std::string space = join_path(environment.account, "namespace");
  if (files.exists(space)) config.space = trimmed(files.read(space));
  config.source = "the service account of this pod";
  return config;
}

Error nothing_found(const KubeEnvironment& environment) {
  const std::string looked = environment.kubeconfig.empty()
                                 ? join_path(environment.home, ".kube/config")
                                 : "KUBECONFIG=" + environment.kubeconfig;
  return not_found(
      "no cluster is known: {} is not there, and this is no pod. Name a file with --kubeconfig, or "
      "run on this machine with --local",
      looked);
}

}  // namespace

KubeEnvironment kube_environment() {
  KubeEnvironment environment;
  environment.kubeconfig = variable("KUBECONFIG");
  environment.home = variable("HOME");
  environment.service_host = variable("KUBERNETES_SERVICE_HOST");
  environment.service_port = variable("KUBERNETES_SERVICE_PORT");
  return environment;
}

bool has_kube_config(const KubeChoice& choice, const KubeEnvironment& environment, Files& files) {
  const bool may_speak = files.exists(join_path(environment.account, "token"));
  return (in_pod(environment) && may_speak) || !paths_of(choice, environment, files).empty();
}

KubeConfig load_kube_config(const KubeChoice& choice, const KubeEnvironment& environment,
                            Files& files) {
  const std::vector<std::string> paths = paths_of(choice, environment, files);
  if (paths.empty() && !in_pod(environment)) throw nothing_found(environment);
  KubeConfig config =
      paths.empty() ? of_the_pod(environment, files) : read_kubeconfig(paths, choice, files);
  if (!choice.space.empty()) config.space = choice.space;
  return config;
}

}  // namespace capstan::jobs::k8s
