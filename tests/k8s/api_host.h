#pragma once

// An API to play the suite against: in this process, or a real server's.

#include <functional>
#include <memory>
#include <string>

#include "jobs/k8s/kube_api.h"
#include "jobs/poll_loop.h"

namespace capstan::jobs::k8s {

enum class ApiKind { kMemory, kServer };

// A kind of object that only the suite has.
inline constexpr Resource kWidgets = {"suite.capstan.example", "v1", "widgets", "Widget"};

// The kubeconfig of a server that may be played with (CAPSTAN_TEST_KUBECONFIG), or empty.
std::string test_kubeconfig();

class ApiHost {
 public:
  // Throws if the server cannot be used.
  explicit ApiHost(ApiKind kind);

  PollLoop& loop() { return loop_; }
  KubeApi& api() { return *api_; }
  // An empty namespace of its own.
  const std::string& space() const { return space_; }

  // Runs the loop until it holds; false after 20 seconds.
  bool run_until(const std::function<bool()>& done);
  ApiAnswer ask(ApiCall call);

 private:
  void make_widgets();
  void make_space();

  PollLoop loop_;
  std::unique_ptr<KubeApi> api_;
  std::string space_;
};

}  // namespace capstan::jobs::k8s
