#include "jobs/k8s/status_writer.h"

#include <utility>

#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {

using Json = nlohmann::json;

static uint64_t number_of(const std::string& version) {
  return std::strtoull(version.c_str(), nullptr, 10);
}

Json merge_difference(const Json& from, const Json& to) {
  Json patch = Json::object();
  if (!to.is_object()) return patch;
  for (const auto& [name, value] : to.items()) {
    const Json& old = at(from, name);
    if (old == value) continue;
    patch[name] = old.is_object() && value.is_object() ? merge_difference(old, value) : value;
  }
  if (!from.is_object()) return patch;
  for (const auto& [name, value] : from.items()) {
    if (!to.contains(name)) patch[name] = nullptr;
  }
  return patch;
}

StatusWriter::StatusWriter(OperatorContext& context, ObjectName job, std::string uid,
                           JobVoice& voice, std::function<void()> written)
    : context_(context),
      job_(std::move(job)),
      uid_(std::move(uid)),
      voice_(voice),
      written_(std::move(written)),
      there_(Json::object()),
      wanted_(Json::object()),
      backoff_(context.random, context.times.retry),
      alive_(std::make_shared<bool>(true)) {}

StatusWriter::~StatusWriter() { *alive_ = false; }

// An answer to our own call is newer than what the informer tells of the time before it.
void StatusWriter::seen(const std::string& version, const Json& status) {
  if (busy_ || number_of(version) < number_of(version_)) return;
  version_ = version;
  there_ = status.is_object() ? status : Json::object();
  if (asked_) send_soon();
}

void StatusWriter::write(const Json& status) {
  wanted_ = status;
  asked_ = true;
  send_soon();
}

// All that one turn of the loop brings is one call.
void StatusWriter::send_soon() {
  if (busy_ || std::exchange(posted_, true)) return;
  context_.loop.post([this, alive = alive_] {
    if (!*alive) return;
    posted_ = false;
    if (!busy_) send();
  });
}

void StatusWriter::send() {
  if (stopped_) return;
  Json patch = merge_difference(there_, wanted_);
  if (patch.empty()) return;
  Json body = {{"metadata", {{"resourceVersion", version_}, {"uid", uid_}}},
               {"status", std::move(patch)}};
  ApiCall call{.verb = Verb::kMergePatch, .resource = kTfJobs, .object = job_};
  call.subresource = "status";
  call.body = std::make_shared<const Json>(std::move(body));
  busy_ = true;
  context_.api.call(std::move(call), [this, alive = alive_](const ApiAnswer& answer) {
    if (*alive) sent(answer);
  });
}

void StatusWriter::sent(const ApiAnswer& answer) {
  if (answer.ok()) return take(*answer.body);
  // Somebody changed the job in between.
  if (answer.error->code() == Code::kAborted) return look();
  // The job is gone, and the informer will tell.
  if (answer.error->code() == Code::kNotFound) return;
  voice_.say(EventType::kWarning, "FailedUpdateStatus", answer.error->message());
  again(answer.retry_after);
}

void StatusWriter::look() {
  ApiCall call{.verb = Verb::kGet, .resource = kTfJobs, .object = job_};
  context_.api.call(std::move(call), [this, alive = alive_](const ApiAnswer& answer) {
    if (!*alive) return;
    const bool gone = answer.ok() ? text_at(at(*answer.body, "metadata"), "uid") != uid_
                                  : answer.error->code() == Code::kNotFound;
    if (gone) return;
    answer.ok() ? take(*answer.body) : again(answer.retry_after);
  });
}

void StatusWriter::take(const Json& object) {
  busy_ = false;
  backoff_.reset();
  version_ = text_at(at(object, "metadata"), "resourceVersion");
  there_ = at(object, "status");
  if (!there_.is_object()) there_ = Json::object();
  settled() ? written_() : send();
}

void StatusWriter::forget() { there_ = wanted_ = Json::object(); }

void StatusWriter::again(double retry_after) {
  const double time = context_.clock.loop() + backoff_.next(retry_after);
  context_.loop.at(deadline_of(time), [this, alive = alive_] {
    if (!*alive) return;
    busy_ = false;
    send();
  });
}

}  // namespace capstan::jobs::k8s
