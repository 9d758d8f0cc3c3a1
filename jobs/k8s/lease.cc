#include "jobs/k8s/lease.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/platform.h"

namespace capstan::jobs::k8s {

using nlohmann::json;

namespace {

Deadline::duration span(double seconds) { return deadline_of(seconds) - Deadline{}; }

std::string text_at(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t whole_at(const json& object, const char* name, int64_t otherwise) {
  auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

}  // namespace

// The Lease as it was last seen, and when it last changed by our clock.
struct LeaderElection::Seen {
  json object;
  json spec = json::object();
  Deadline changed{};

  std::string holder() const { return text_at(spec, "holderIdentity"); }
  Deadline dead_at(int otherwise) const {
    const int64_t seconds = whole_at(spec, "leaseDurationSeconds", otherwise);
    return changed + span(double(std::clamp<int64_t>(seconds, 1, 3600)));
  }
};

LeaderElection::LeaderElection(KubeApi& api, Loop& loop, Random& random, LeaseOptions options,
                               LeaseHolder& holder, WallClock clock)
    : api_(api),
      loop_(loop),
      random_(random),
      options_(std::move(options)),
      holder_(holder),
      clock_(std::move(clock)),
      alive_(std::make_shared<bool>(true)) {}

LeaderElection::~LeaderElection() {
  *alive_ = false;
  loop_.cancel(timer_);
  loop_.cancel(guard_);
}

void LeaderElection::start() { look(); }

bool LeaderElection::leads() const {
  return leads_ && loop_.now() < renewed_ + span(options_.give_up);
}

void LeaderElection::call(ApiCall call, Then then) {
  calling_ = true;
  call.timeout = options_.give_up;
  call.urgent = true;
  api_.call(std::move(call),
            [this, alive = alive_, then, asked = loop_.now()](const ApiAnswer& answer) {
              if (!*alive) return;
              calling_ = false;
              (this->*then)(answer, asked);
              if (released_ && !calling_) give_back();
            });
}

void LeaderElection::look() {
  call({.verb = Verb::kGet, .resource = kLeases, .object = options_.lease}, &LeaderElection::found);
}

void LeaderElection::found(const ApiAnswer& answer, Deadline) {
  if (released_) return;
  if (answer.code == 404) return create();
  if (!answer.ok()) return trouble(*answer.error);
  see(*answer.body);
  must_look_ = false;
  const std::string holder = seen_->holder();
  const Deadline dead = seen_->dead_at(options_.duration);
  if (holder.empty() || holder == options_.identity || dead <= loop_.now()) return update();
  follow(holder);
  const double left = seconds_of(dead) - seconds_of(loop_.now());
  again(std::clamp(left, 0.001, jittered(options_.retry)));
}

void LeaderElection::see(const json& lease) {
  if (!seen_) seen_ = std::make_unique<Seen>();
  const json spec = lease.is_object() ? lease.value("spec", json::object()) : json::object();
  if (spec != seen_->spec || seen_->object.is_null()) seen_->changed = loop_.now();
  seen_->spec = spec.is_object() ? spec : json::object();
  seen_->object = lease;
}

void LeaderElection::create() {
  json lease = {{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}};
  lease["metadata"] = {{"name", options_.lease.name}, {"namespace", options_.lease.space}};
  const std::string now = kube_micro_time(clock_());
  lease["spec"] = {{"holderIdentity", options_.identity},
                   {"leaseDurationSeconds", options_.duration},
                   {"acquireTime", now},
                   {"renewTime", now},
                   {"leaseTransitions", 0}};
  call({.verb = Verb::kCreate,
        .resource = kLeases,
        .object = {options_.lease.space, ""},
        .body = std::make_shared<json>(std::move(lease))},
       &LeaderElection::wrote);
}

// What was read, with us in it. The version makes it fail if anybody was faster.
void LeaderElection::update() {
  json lease = seen_->object;
  json& spec = lease["spec"];
  const std::string now = kube_micro_time(clock_());
  if (seen_->holder() != options_.identity) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] = whole_at(seen_->spec, "leaseTransitions", 0) + 1;
  }
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] = options_.duration;
  spec["renewTime"] = now;
  put(std::move(lease), &LeaderElection::wrote);
}

void LeaderElection::put(json lease, Then then) {
  call({.verb = Verb::kUpdate,
        .resource = kLeases,
        .object = options_.lease,
        .body = std::make_shared<json>(std::move(lease))},
       then);
}

void LeaderElection::wrote(const ApiAnswer& answer, Deadline asked) {
  if (answer.code == 409 || answer.code == 404) {
    must_look_ = true;
    if (!released_) again(jittered(options_.retry / 5));
    return;
  }
  if (!answer.ok()) return trouble(*answer.error);
  see(*answer.body);
  must_look_ = false;
  if (released_) return;
  troubled_ = false;
  renewed_ = asked;
  guard();
  again(options_.retry);
  if (std::exchange(leads_, true)) return;
  told_.reset();
  holder_.leads();
}

void LeaderElection::guard() {
  loop_.cancel(guard_);
  guard_ = loop_.at(renewed_ + span(options_.give_up), [this] {
    guard_ = 0;
    lose(unavailable("the Lease {}/{} could not be renewed for {} s{}", options_.lease.space,
                     options_.lease.name, options_.give_up,
                     last_error_ ? ": " + last_error_->message() : ""));
  });
}

void LeaderElection::lose(const Error& why) {
  if (std::exchange(leads_, false)) holder_.leads_no_more(why);
}

void LeaderElection::follow(const std::string& identity) {
  troubled_ = false;
  lose(
      aborted("{} has taken the Lease {}/{}", identity, options_.lease.space, options_.lease.name));
  if (told_ == identity) return;
  told_ = identity;
  holder_.follows(identity);
}

void LeaderElection::trouble(const Error& error) {
  last_error_ = error;
  if (released_) return;
  again(jittered(options_.retry));
  if (!std::exchange(troubled_, true)) holder_.troubled(error);
}

double LeaderElection::jittered(double seconds) {
  return seconds * (1 + 0.2 * double(random_.u64() >> 11) * 0x1p-53);
}

// Whoever leads writes again what it has written; conflicts tell of others.
void LeaderElection::again(double delay) {
  loop_.cancel(timer_);
  timer_ = loop_.at(loop_.now() + span(delay), [this] {
    timer_ = 0;
    leads_ && !must_look_ ? update() : look();
  });
}

void LeaderElection::release(std::function<void()> done) {
  released_ = std::move(done);
  leads_ = false;
  loop_.cancel(timer_);
  loop_.cancel(guard_);
  guard_ = loop_.at(loop_.now() + span(options_.give_up), [this] { end_release(); });
  if (!calling_) give_back();
}

void LeaderElection::give_back() {
  if (!seen_ || seen_->holder() != options_.identity) {
    loop_.post([this, alive = alive_] {
      if (*alive) end_release();
    });
    return;
  }
  json lease = seen_->object;
  lease["spec"]["holderIdentity"] = "";
  lease["spec"]["leaseDurationSeconds"] = 1;
  lease["spec"]["renewTime"] = kube_micro_time(clock_());
  put(std::move(lease), &LeaderElection::gave_back);
}

void LeaderElection::gave_back(const ApiAnswer&, Deadline) { end_release(); }

void LeaderElection::end_release() {
  loop_.cancel(guard_);
  if (auto done = std::exchange(released_, {})) done();
}

}  // namespace capstan::jobs::k8s
