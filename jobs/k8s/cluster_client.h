#pragma once

// The API for whoever types commands: calls that wait for their answer. Nothing waits in silence.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "jobs/k8s/kube_api.h"
#include "jobs/poll_loop.h"

namespace capstan::jobs::k8s {

using Say = std::function<void(std::string_view text)>;

class ClusterClient {
 public:
  // `say` takes notes for people.
  ClusterClient(PollLoop& loop, KubeApi& api, Say say);

  ApiAnswer ask(ApiCall call);
  // Throws what the answer has for an error.
  nlohmann::json must(ApiCall call);
  // Nothing if there is no such object; throws if the kind itself is unknown to the server.
  std::optional<nlohmann::json> find(Resource resource, ObjectName object, double timeout = 0);
  // All of them, page by page.
  std::vector<nlohmann::json> list(Resource resource, const std::string& space,
                                   const std::string& labels = {}, const std::string& fields = {});

  // Runs the loop until `done` holds, or for `seconds` (0: for ever). Returns whether it holds. If
  // it takes longer than five seconds, `what` says once what is waited for.
  bool wait(FunctionRef<bool()> done, double seconds, const std::function<std::string()>& what);

  PollLoop& loop() { return loop_; }
  KubeApi& api() { return api_; }
  void say(std::string_view text) const { say_(text); }

 private:
  PollLoop& loop_;
  KubeApi& api_;
  const Say say_;
};

}  // namespace capstan::jobs::k8s
