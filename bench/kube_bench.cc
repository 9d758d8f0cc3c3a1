// A plain client of the Kubernetes API: creates the objects of a file, a JSON object per line, in
// their order and as many at a time as the operator does. Prints when it began and when the last
// one was there, in seconds of the monotonic clock.
//
//   kube_bench KUBECONFIG FILE

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "jobs/k8s/http_api.h"
#include "jobs/platform.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

Resource resource_of(const std::string& kind) {
  for (const Resource& one : {kTfJobs, kPods, kServices, kSecrets}) {
    if (one.kind == kind) return one;
  }
  throw invalid_argument("kube_bench makes no {}", kind);
}

std::vector<ApiCall> read_calls(const std::string& path) {
  std::vector<ApiCall> calls;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto body = std::make_shared<const json>(json::parse(line));
    ApiCall call{.verb = Verb::kCreate, .resource = resource_of(body->at("kind"))};
    call.object = {body->at("metadata").at("namespace"), ""};
    call.body = std::move(body);
    calls.push_back(std::move(call));
  }
  return calls;
}

int run(const std::string& kubeconfig, const std::string& path) {
  PollLoop loop;
  HttpApi api(loop, load_kube_config({kubeconfig, "", ""}, kube_environment()));
  std::vector<ApiCall> calls = read_calls(path);
  size_t left = calls.size();
  const double begin = seconds_of(loop.now());
  for (ApiCall& call : calls) {
    api.call(std::move(call), [&](const ApiAnswer& answer) {
      if (!answer.ok()) throw *answer.error;
      --left;
    });
  }
  loop.run_until([&] { return left == 0; });
  fmt::print("{{\"begin\": {:.6f}, \"end\": {:.6f}}}\n", begin, seconds_of(loop.now()));
  return 0;
}

}  // namespace
}  // namespace capstan::jobs::k8s

int main(int count, char** words) {
  if (count != 3) return fmt::print(stderr, "usage: kube_bench KUBECONFIG FILE\n"), 2;
  try {
    return capstan::jobs::k8s::run(words[1], words[2]);
  } catch (const std::exception& error) {
    return fmt::print(stderr, "kube_bench: {}\n", error.what()), 1;
  }
}
