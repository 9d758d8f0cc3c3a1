#pragma once

// Tells users what happens to an object: Events (v1), as `kubectl describe` shows them. The same
// event again only raises its count. Never holds anything up: what cannot be written is dropped and
// counted.

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/random.h"
#include "jobs/k8s/backoff.h"
#include "jobs/k8s/kube_api.h"
#include "jobs/k8s/kube_time.h"

namespace capstan::jobs::k8s {

// What an event is about.
struct EventTarget {
  Resource resource;
  ObjectName object;
  std::string uid;
  std::string resource_version = {};
  // Of the object if it is not the resource's own: "kubeflow.org/v1beta1".
  std::string api_version = {};
};

enum class EventType { kNormal, kWarning };

struct EventOptions {
  std::string component = "tfjob-controller";
  std::string host = {};     // where it runs, may be empty
  size_t queue = 1000;       // events that wait; the oldest goes first when it is full
  size_t in_flight = 4;      // calls at a time
  size_t remembered = 4096;  // for counting repetitions
  double same_for = 600;     // seconds in which a repetition counts as one
  int attempts = 5;
};

class EventRecorder {
 public:
  EventRecorder(KubeApi& api, Loop& loop, Random& random, EventOptions options = {},
                WallClock clock = wall_time);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void record(const EventTarget& about, EventType type, std::string_view reason,
              std::string_view message);
  // Nothing waits and nothing is under way.
  bool idle() const { return queue_.empty() && in_flight_ == 0; }
  uint64_t dropped() const { return dropped_; }
  uint64_t written() const { return written_; }

 private:
  struct Entry;
  using EntryRef = std::shared_ptr<Entry>;

  EntryRef find_or_make(const EventTarget& about, EventType type, std::string_view reason,
                        std::string_view message);
  void forget_old();
  void enqueue(const EntryRef& entry);
  void pump();
  void send(const EntryRef& entry);
  void sent(const EntryRef& entry, const ApiAnswer& answer, int count);
  void retry(const EntryRef& entry, double retry_after);

  KubeApi& api_;
  Loop& loop_;
  Random& random_;
  const EventOptions options_;
  WallClock clock_;
  std::map<std::string, EntryRef, std::less<>> entries_;  // by what makes two events the same
  std::list<std::string> by_use_;                         // keys, the oldest first
  std::deque<EntryRef> queue_;
  size_t in_flight_ = 0;
  uint64_t dropped_ = 0, written_ = 0;
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
