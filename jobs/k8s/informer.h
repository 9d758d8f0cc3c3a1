#pragma once

// Knows all objects of one kind that a selector picks: lists them page by page, then watches from
// there, with bookmarks. A watch that breaks goes on from the last resourceVersion; after 410 Gone
// everything is listed again and what vanished meanwhile is told. Keeps names, uids and versions
// only: the sink keeps what it wants.
//
//   Informer pods(api, loop, random, kPods, {.labels = "app=x"}, sink);
//   pods.start();

#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "jobs/k8s/backoff.h"
#include "jobs/k8s/kube_api.h"

namespace capstan::jobs::k8s {

struct InformerOptions {
  std::string space = {};      // empty: all namespaces
  std::string labels = {};     // selector, not escaped: "app=x,role"
  std::string fields = {};     // "spec.nodeName=n"
  int page = 500;              // objects per answer of a list
  double watch_seconds = 300;  // after which the server ends a watch; up to twice that
  BackoffOptions delays = {};  // after failures
};

// All on the loop's thread. The sink is told from inside the loop, never from inside start(); it
// must not destroy the informer.
class Informer final : private WatchSink {
 public:
  Informer(KubeApi& api, Loop& loop, Random& random, Resource resource, InformerOptions options,
           InformerSink& sink);
  ~Informer() override;
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  void start();
  // Everything that was there at some moment has been told.
  bool synced() const { return synced_; }
  size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::string uid, version;
    uint64_t list = 0;  // the last one that had it
  };

  void event(std::string_view type, nlohmann::json&& object) override;
  void closed(const std::optional<Error>& error, int code) override;

  void list();
  void ask_for_page(const std::string& token);
  void take_page(const ApiAnswer& answer);
  void take_items(const nlohmann::json& items);
  void end_of_list(const std::string& version);
  void failed_list(const ApiAnswer& answer);
  void open_watch();
  void put(nlohmann::json&& object);
  void drop(const nlohmann::json& object);
  void drop_vanished();
  void trouble(const Error& error, bool at_once);
  void well();
  void later(double delay, void (Informer::*next)());
  std::string selectors() const;

  KubeApi& api_;
  Loop& loop_;
  Random& random_;
  const Resource resource_;
  const InformerOptions options_;
  InformerSink& sink_;
  std::map<ObjectName, Known> known_;
  std::string version_;  // from which a watch goes on
  uint64_t lists_ = 0;
  bool paged_ = true;  // false: the last list outlived its pages
  bool synced_ = false, troubled_ = false;
  int failures_ = 0;
  Backoff backoff_;
  Deadline watch_began_{};
  Loop::TimerId timer_ = 0;
  std::unique_ptr<Watch> watch_;
  std::shared_ptr<bool> alive_;  // false once we are gone: an answer finds nobody
};

}  // namespace capstan::jobs::k8s
