// An operator over the API in memory, for tests in Python: a request per line in JSON on standard
// input, an answer per line on standard output. tests/k8s/job_clusters.py speaks with it.

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "jobs/k8s/operator_play.h"
#include "jobs/k8s/yaml.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

Resource resource_of(const std::string& plural) {
  for (const Resource& one : {kTfJobs, kPods, kServices, kEvents}) {
    if (one.plural == plural) return one;
  }
  throw invalid_argument("no resource {} here", plural);
}

json read_job(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  json job = *read_documents(text.str(), path).at(0).json;
  // The server converts between versions by this alone.
  job["apiVersion"] = "kubeflow.org/v1";
  job["metadata"]["namespace"] = "default";
  return job;
}

json changed(OperatorPlay& play, Verb verb, const json& ask) {
  const Resource resource = resource_of(ask.at("resource"));
  const std::string subresource = ask.value("subresource", "");
  play.call(verb, resource, ask.value("name", ""), ask.value("body", json()), subresource);
  play.settle();
  return json::object();
}

json answer(OperatorPlay& play, const json& ask) {
  const std::string what = ask.at("do");
  if (what == "create") play.create(read_job(ask.at("file")));
  if (what == "patch") return changed(play, Verb::kMergePatch, ask);
  if (what == "delete") return changed(play, Verb::kDelete, ask);
  if (what == "list") return play.api.objects(resource_of(ask.at("resource")));
  if (what == "now") return play.now();
  if (what == "wait") {
    play.advance(ask.at("seconds"));
    play.api.collect_garbage();
    play.settle();
  }
  return json::object();
}

}  // namespace
}  // namespace capstan::jobs::k8s

int main() {
  capstan::jobs::k8s::OperatorPlay play;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << capstan::jobs::k8s::answer(play, nlohmann::json::parse(line)).dump() << std::endl;
  }
}
