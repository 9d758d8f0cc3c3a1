#include "jobs/k8s/job_watch.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jobs/k8s/cluster_jobs.h"
#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

// Time does not help against these.
bool is_refusal(const Error& error) {
  switch (error.code()) {
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
    case Code::kNotFound:
    case Code::kInvalidArgument: return true;
    default: return false;
  }
}

}  // namespace

class JobWatch::Jobs final : public InformerSink {
 public:
  explicit Jobs(JobWatch& watch) : watch_(watch) {}
  void added_or_changed(json&& object) override {
    if (text_at(at(object, "metadata"), "uid") != watch_.uid_) return;
    seen_ = true;
    watch_.job_ = std::make_shared<const json>(std::move(object));
    watch_.told();
  }
  void removed(const ObjectName&, std::string_view uid) override {
    if (uid != watch_.uid_) return;
    watch_.job_ = nullptr;
    watch_.told();
  }
  // It may have gone before the list, and another one may have its name.
  void synced() override {
    if (!seen_) watch_.job_ = nullptr;
    watch_.told();
  }
  void troubled(const Error& error) override { watch_.hear_trouble(error); }

 private:
  JobWatch& watch_;
  bool seen_ = false;
};

class JobWatch::ItsPods final : public InformerSink {
 public:
  explicit ItsPods(JobWatch& watch) : watch_(watch) {}
  void added_or_changed(json&& pod) override {
    if (controller_uid(pod) != watch_.uid_) return;
    PodSeen seen = see_pod(pod);
    if (!seen.task) return;
    watch_.pods_[seen.uid] = std::move(seen);
    watch_.told();
  }
  void removed(const ObjectName&, std::string_view uid) override {
    if (watch_.pods_.erase(std::string(uid)) > 0) watch_.told();
  }
  void synced() override { watch_.told(); }
  void troubled(const Error& error) override { watch_.hear_trouble(error); }

 private:
  JobWatch& watch_;
};

JobWatch::JobWatch(ClusterClient& client, const json& job, Pods pods)
    : client_(client),
      uid_(text_at(at(job, "metadata"), "uid")),
      job_(std::make_shared<const json>(job)),
      job_sink_(std::make_unique<Jobs>(*this)),
      pod_sink_(std::make_unique<ItsPods>(*this)) {
  const std::string space = text_at(at(job, "metadata"), "namespace");
  const std::string name = text_at(at(job, "metadata"), "name");
  job_informer_ = std::make_unique<Informer>(
      client.api(), client.loop(), random_, kTfJobs,
      InformerOptions{.space = space, .fields = "metadata.name=" + name}, *job_sink_);
  job_informer_->start();
  if (pods == Pods::kNot) return;
  pod_informer_ = std::make_unique<Informer>(
      client.api(), client.loop(), random_, kPods,
      InformerOptions{.space = space, .labels = replica_selector(name)}, *pod_sink_);
  pod_informer_->start();
}

JobWatch::~JobWatch() = default;

bool JobWatch::synced() const {
  return job_informer_->synced() && (!pod_informer_ || pod_informer_->synced());
}

void JobWatch::hear_trouble(const Error& error) {
  if (is_refusal(error)) {
    refused_ = error;
  } else {
    client_.say(fmt::format("{}; trying again", error.message()));
  }
}

bool JobWatch::wait(FunctionRef<bool()> done, double seconds,
                    const std::function<std::string()>& what) {
  const bool came = client_.wait([&] { return refused_ || (synced() && done()); }, seconds, what);
  if (refused_) throw Error(*refused_);
  return came;
}

}  // namespace capstan::jobs::k8s
