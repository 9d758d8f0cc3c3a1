#pragma once

// The objects of a MemoryApi and what may be done with them: one call at a time, done at once. The
// changes are kept for those who watch.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "jobs/k8s/kube_api.h"
#include "jobs/k8s/kube_time.h"
#include "jobs/k8s/query.h"

namespace capstan::jobs::k8s {

using Object = std::shared_ptr<const nlohmann::json>;

struct Change {
  uint64_t version;
  std::string kind;  // folder_of() of the resource
  ObjectName name;
  Object before, after;  // null: was not there, is no longer there
};

// "kubeflow.org/tfjobs": the versions of a kind share their objects.
std::string folder_of(const Resource& resource);

class MemoryStore {
 public:
  explicit MemoryStore(WallClock clock) : clock_(std::move(clock)) {}

  ApiAnswer apply(const ApiCall& call);

  // The first after a version, or null; those up to `oldest()` are gone.
  const Change* next_change(uint64_t version) const;
  uint64_t version() const { return version_; }
  uint64_t oldest() const { return oldest_; }
  void compact();
  void collect_garbage();
  std::map<ObjectName, Object> all(const Resource& resource) const;
  // As it is read by way of this version of its kind.
  static nlohmann::json shown(const Resource& resource, const nlohmann::json& object);

 private:
  struct Kind {
    Resource resource;
    std::map<ObjectName, Object> objects;
  };
  struct Snapshot {
    std::vector<Object> rest;
    uint64_t version;
  };

  ApiAnswer done(const ApiCall& call);
  ApiAnswer get(const ApiCall& call);
  ApiAnswer list(const ApiCall& call);
  ApiAnswer page(const ApiCall& call, Snapshot snapshot, int64_t limit);
  ApiAnswer create(const ApiCall& call);
  ApiAnswer update(const ApiCall& call);
  ApiAnswer apply_fields(const ApiCall& call);
  ApiAnswer remove(const ApiCall& call);
  ApiAnswer remove_all(const ApiCall& call);
  ApiAnswer bind(const ApiCall& call);
  ApiAnswer write(const ApiCall& call, const Object& before, nlohmann::json&& wanted);
  ApiAnswer soft_delete(const ApiCall& call, const Object& before, int64_t grace);

  Object find(const ApiCall& call) const;
  Kind& kind_of(const Resource& resource);
  Object put(const Resource& resource, const ObjectName& name, nlohmann::json&& object);
  void erase(const Resource& resource, const ObjectName& name);
  void remember(Change change);
  std::string generated(const std::string& prefix);
  std::string new_uid();
  bool collect_one();
  bool is_orphan(const nlohmann::json& object) const;
  bool has_uid(const std::string& uid) const;

  WallClock clock_;
  SeededRandom random_{1};
  std::map<std::string, Kind> kinds_;
  std::map<std::string, size_t> uids_;
  std::deque<Change> changes_;
  std::map<std::string, Snapshot, std::less<>> snapshots_;
  uint64_t version_ = 100, oldest_ = 100, next_snapshot_ = 1;
};

}  // namespace capstan::jobs::k8s
