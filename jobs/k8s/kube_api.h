#pragma once

// The Kubernetes API as this house uses it: objects as JSON, calls that return at once, answers on
// the loop's thread. http_api.h speaks with a real server; memory_api.h keeps objects in this
// process, behaves alike (tests/k8s plays one suite against both), and serves tests.

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace capstan::jobs::k8s {

// A kind of object: "" / v1 / pods, kubeflow.org / v1 / tfjobs.
struct Resource {
  std::string_view group, version, plural, kind;
  bool namespaced = true;
  bool operator==(const Resource&) const = default;
};
inline constexpr Resource kPods = {"", "v1", "pods", "Pod"};
inline constexpr Resource kServices = {"", "v1", "services", "Service"};
inline constexpr Resource kSecrets = {"", "v1", "secrets", "Secret"};
inline constexpr Resource kEvents = {"", "v1", "events", "Event"};
inline constexpr Resource kNamespaces = {"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource kNodes = {"", "v1", "nodes", "Node", false};
inline constexpr Resource kLeases = {"coordination.k8s.io", "v1", "leases", "Lease"};
inline constexpr Resource kDeployments = {"apps", "v1", "deployments", "Deployment"};
inline constexpr Resource kNetworkPolicies = {"networking.k8s.io", "v1", "networkpolicies",
                                              "NetworkPolicy"};
inline constexpr Resource kCrds = {"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                   "CustomResourceDefinition", false};
inline constexpr Resource kTfJobs = {"kubeflow.org", "v1", "tfjobs", "TFJob"};

// "v1", "apps/v1".
inline std::string api_version_of(const Resource& resource) {
  return resource.group.empty() ? std::string(resource.version)
                                : std::string(resource.group) + "/" + std::string(resource.version);
}

// Which object, or with an empty name which folder of objects. An empty space is all of them.
struct ObjectName {
  std::string space, name;
  auto operator<=>(const ObjectName&) const = default;
};

struct ApiAnswer {
  // 0: the server was not reached. Else its HTTP status, as 409.
  int code = 0;
  // The object or list; the text of a log as a JSON string. For a code that is no success the
  // server's Status object, if it sent one. May be null.
  std::shared_ptr<const nlohmann::json> body;
  // Says verb, resource, name and what the server said; for 403 the right that is missing and the
  // RBAC rule that gives it. Kinds: Unavailable (0, 429, 5xx), DeadlineExceeded (the server did not
  // answer in time; it may have done it), NotFound, AlreadyExists, Aborted (409 Conflict),
  // OutOfRange (410 Gone), PermissionDenied, Unauthenticated, InvalidArgument, DataLoss (an answer
  // that cannot be read).
  std::optional<Error> error;
  double retry_after = 0;  // seconds that the server asks for; 0: none

  bool ok() const { return !error; }
};
using OnAnswer = std::function<void(const ApiAnswer&)>;

// kGet without a name lists; kDelete without a name deletes whatever the query's selectors pick.
// kApply (server-side apply; the query has fieldManager) makes the object, or changes the fields
// that the body names.
enum class Verb { kGet, kCreate, kUpdate, kMergePatch, kApply, kDelete };

struct ApiCall {
  Verb verb = Verb::kGet;
  Resource resource;
  ObjectName object;
  std::string_view subresource = {};  // "status", "scale", "log"; a literal
  std::string query = {};             // "labelSelector=a%3Db&limit=5", already escaped
  std::shared_ptr<const nlohmann::json> body = nullptr;
  double timeout = 0;   // seconds; 0: the usual
  bool urgent = false;  // does not wait for others to end
};

// For one value of a query: "a=b" -> "a%3Db".
std::string query_escape(std::string_view text);

// One connection's worth of changes, as the server sends them. May end its watch from inside.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // type: ADDED, MODIFIED, DELETED, BOOKMARK (an object with nothing but its resourceVersion).
  virtual void event(std::string_view type, nlohmann::json&& object) = 0;
  // No more comes. No error: the server closed it, as it does after minutes. Else why, with the
  // code of the answer, or of an ERROR in the stream: 410 asks for a new list.
  virtual void closed(const std::optional<Error>& error, int code) = 0;
};

// Lines of a pod's log, without their newlines, as they come. May end it from inside.
class LogFollower {
 public:
  virtual ~LogFollower() = default;
  virtual void line(std::string_view text) = 0;
  virtual void closed(const std::optional<Error>& error, int code) = 0;
};

// Ends what it stands for when it goes; nothing is told after that. Goes before its KubeApi.
class Watch {
 public:
  virtual ~Watch() = default;
};

// All calls on the loop's thread. Answers come later on that thread, never from inside a call.
class KubeApi {
 public:
  virtual ~KubeApi() = default;
  virtual void call(ApiCall call, OnAnswer done) = 0;
  // `query` has selectors, resourceVersion and so on; the sink outlives the watch.
  virtual std::unique_ptr<Watch> watch(Resource resource, std::string space, std::string query,
                                       WatchSink& sink) = 0;
  // `query`: "container=c&tailLines=10&follow=true". Ends when the container does; without
  // follow=true once everything that is there has been told.
  virtual std::unique_ptr<Watch> read_log(ObjectName pod, std::string query,
                                          LogFollower& follower) = 0;
};

// What is known of all objects of one kind that a selector picks: see informer.h.
class InformerSink {
 public:
  virtual ~InformerSink() = default;
  virtual void added_or_changed(nlohmann::json&& object) = 0;
  virtual void removed(const ObjectName& object, std::string_view uid) = 0;
  // Everything that was there is known; told after each list.
  virtual void synced() = 0;
  // Not to be had at the moment; it goes on trying. Told once per breakdown.
  virtual void troubled(const Error& error) = 0;
};

}  // namespace capstan::jobs::k8s
