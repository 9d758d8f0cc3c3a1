#include "k8s/api_host.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "jobs/k8s/http_api.h"
#include "jobs/k8s/memory_api.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

std::unique_ptr<KubeApi> make_api(ApiKind kind, PollLoop& loop) {
  if (kind == ApiKind::kMemory) return std::make_unique<MemoryApi>(loop);
  return std::make_unique<HttpApi>(loop, load_kube_config({.path = test_kubeconfig()}, {}));
}

json widget_crd() {
  const json free = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  const json schema = {{"type", "object"}, {"properties", {{"spec", free}, {"status", free}}}};
  const json version = {{"name", "v1"},
                        {"served", true},
                        {"storage", true},
                        {"schema", {{"openAPIV3Schema", schema}}},
                        {"subresources", {{"status", json::object()}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "widgets.suite.capstan.example"}}},
          {"spec",
           {{"group", "suite.capstan.example"},
            {"scope", "Namespaced"},
            {"names", {{"plural", "widgets"}, {"singular", "widget"}, {"kind", "Widget"}}},
            {"versions", json::array({version})}}}};
}

}  // namespace

std::string test_kubeconfig() {
  const char* path = std::getenv("CAPSTAN_TEST_KUBECONFIG");
  return path ? path : "";
}

ApiHost::ApiHost(ApiKind kind) : api_(make_api(kind, loop_)) {
  make_space();
  if (kind == ApiKind::kServer) make_widgets();
}

bool ApiHost::run_until(const std::function<bool()>& done) {
  const Deadline end = deadline_in(std::chrono::seconds(20));
  const auto wake = loop_.at(end, [] {});
  loop_.run_until([&] { return done() || loop_.now() > end; });
  loop_.cancel(wake);
  return done();
}

ApiAnswer ApiHost::ask(ApiCall call) {
  std::optional<ApiAnswer> got;
  api_->call(std::move(call), [&](const ApiAnswer& answer) { got = answer; });
  if (!run_until([&] { return got.has_value(); })) throw deadline_exceeded("no answer came");
  return *got;
}

void ApiHost::make_space() {
  SystemRandom random;
  space_ = fmt::format("suite-{:016x}", random.u64());
  const json body = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", space_}}}};
  const ApiAnswer made =
      ask({.verb = Verb::kCreate, .resource = kNamespaces, .body = std::make_shared<json>(body)});
  if (!made.ok()) throw *made.error;
}

// The server takes a moment to know a kind that is new to it.
void ApiHost::make_widgets() {
  const ApiAnswer made =
      ask({.verb = Verb::kCreate, .resource = kCrds, .body = std::make_shared<json>(widget_crd())});
  if (!made.ok() && made.error->code() != Code::kAlreadyExists) throw *made.error;
  for (int i = 0; i < 200; ++i) {
    if (ask({.verb = Verb::kGet, .resource = kWidgets, .object = {space_, ""}}).ok()) return;
    bool later = false;
    loop_.at(loop_.now() + std::chrono::milliseconds(50), [&] { later = true; });
    run_until([&] { return later; });
  }
  throw unavailable("the server does not serve the suite's CRD");
}

}  // namespace capstan::jobs::k8s
