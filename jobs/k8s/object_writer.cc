#include "jobs/k8s/object_writer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/k8s/pod_seen.h"

namespace capstan::jobs::k8s {
namespace {

using Json = nlohmann::json;

ObjectName name_of(const Json& object) {
  const Json& metadata = object.at("metadata");
  return {metadata.value("namespace", ""), metadata.at("name").get<std::string>()};
}

// How events call it; empty: only of failures is told.
std::string_view event_word(const Resource& resource) {
  if (resource.plural == kPods.plural) return "Pod";
  if (resource.plural == kServices.plural) return "Service";
  if (resource.kind == "PodGroup") return resource.kind;
  return resource.plural == kTfJobs.plural ? "Job" : "";
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool never_helps(const Error& error) { return error.code() == Code::kInvalidArgument; }

}  // namespace

struct ObjectWriter::Making {
  Resource resource;
  ObjectName name;
  JsonRef body;
  OnMade made;
  Backoff backoff;
  bool given_up = false;
};

struct ObjectWriter::Removing {
  Resource resource;
  ObjectName name;
  std::string uid;
  bool at_once;
  Backoff backoff;
};

ObjectWriter::ObjectWriter(OperatorContext& context, std::string job, std::string uid,
                           JobVoice& voice)
    : context_(context),
      job_(std::move(job)),
      uid_(std::move(uid)),
      voice_(voice),
      alive_(std::make_shared<bool>(true)) {}

ObjectWriter::~ObjectWriter() { *alive_ = false; }

bool ObjectWriter::makes(Resource resource, const ObjectName& object) const {
  return making_.contains({std::string(resource.plural), object});
}

void ObjectWriter::make(Resource resource, Json object, OnMade made) {
  const ObjectName name = name_of(object);
  MakingRef& making = making_[{std::string(resource.plural), name}];
  if (making) return;
  making = std::make_shared<Making>(
      Making{resource, name, std::make_shared<const Json>(std::move(object)), std::move(made),
             Backoff(context_.random, context_.times.retry)});
  create(MakingRef(making));
}

void ObjectWriter::give_up_making() {
  for (auto& [key, making] : making_) making->given_up = true;
  making_.clear();
}

void ObjectWriter::create(const MakingRef& making) {
  if (making->given_up) return;
  ApiCall call{.verb = Verb::kCreate, .resource = making->resource};
  call.object = {making->name.space, ""};
  call.body = making->body;
  context_.api.call(std::move(call), [this, alive = alive_, making](const ApiAnswer& answer) {
    if (*alive) created(making, answer);
  });
}

void ObjectWriter::created(const MakingRef& making, const ApiAnswer& answer) {
  if (making->given_up && !answer.ok()) return;
  if (answer.ok()) {
    say_done("Create", making->resource, making->name.name);
    return end(making, {answer.body, std::nullopt});
  }
  if (answer.error->code() == Code::kAlreadyExists) {
    // Its name has the job's uid; and nobody but pods may read it.
    const bool ours = making->resource.plural == kSecrets.plural;
    return ours ? end(making, {}) : look_whose(making);
  }
  say_failed("Create", making->resource, *answer.error);
  if (never_helps(*answer.error)) return end(making, {nullptr, answer.error});
  later(making->backoff.next(answer.retry_after), [this, making] { create(making); });
}

// Made by the operator before us, which could not tell us; left by a job of the same name that is
// going; or somebody else's.
void ObjectWriter::look_whose(const MakingRef& making) {
  ApiCall call{.verb = Verb::kGet, .resource = making->resource, .object = making->name};
  context_.api.call(std::move(call), [this, alive = alive_, making](const ApiAnswer& answer) {
    if (!*alive) return;
    if (answer.ok() && answer.body && stays(*answer.body)) return found(making, answer.body);
    later(making->backoff.next(answer.retry_after), [this, making] { create(making); });
  });
}

void ObjectWriter::found(const MakingRef& making, const JsonRef& object) {
  if (controller_uid(*object) == uid_) return end(making, {object, std::nullopt});
  const Error error = already_exists(
      "{} {} is there already and belongs to {}; remove it, or give this job another name",
      making->resource.kind, making->name.name, controller_name(*object));
  say_failed("Create", making->resource, error);
  end(making, {nullptr, error});
}

// What a deleted job of this name left behind is collected in time.
bool ObjectWriter::stays(const Json& object) const {
  if (object.at("metadata").contains("deletionTimestamp")) return false;
  return controller_uid(object) == uid_ || controller_name(object) != "TFJob " + job_;
}

void ObjectWriter::end(const MakingRef& making, MakeAnswer answer) {
  if (making->given_up) return;
  making_.erase({std::string(making->resource.plural), making->name});
  if (making->made) making->made(answer);
}

void ObjectWriter::remove(Resource resource, const ObjectName& object, const std::string& uid,
                          bool at_once) {
  auto [found, fresh] = removed_.try_emplace(uid, at_once);
  if (!fresh && (found->second || !at_once)) return;
  found->second = at_once;
  send(std::make_shared<Removing>(
      Removing{resource, object, uid, at_once, Backoff(context_.random, context_.times.retry)}));
}

void ObjectWriter::send(const RemovingRef& removing) {
  Json body = {{"apiVersion", "v1"},
               {"kind", "DeleteOptions"},
               {"propagationPolicy", "Background"},
               {"preconditions", {{"uid", removing->uid}}}};
  if (removing->at_once) body["gracePeriodSeconds"] = 0;
  ApiCall call{.verb = Verb::kDelete, .resource = removing->resource, .object = removing->name};
  call.body = std::make_shared<const Json>(std::move(body));
  context_.api.call(std::move(call), [this, alive = alive_, removing](const ApiAnswer& answer) {
    if (*alive) removed(removing, answer);
  });
}

void ObjectWriter::removed(const RemovingRef& removing, const ApiAnswer& answer) {
  // Gone, or another one has its name.
  const bool gone = !answer.ok() && (answer.error->code() == Code::kNotFound ||
                                     answer.error->code() == Code::kAborted);
  if (gone) return;
  if (answer.ok()) return say_done("Delete", removing->resource, removing->name.name);
  say_failed("Delete", removing->resource, *answer.error);
  later(removing->backoff.next(answer.retry_after), [this, removing] { send(removing); });
}

template <class Then>
void ObjectWriter::later(double delay, Then then) {
  context_.loop.at(deadline_of(context_.clock.loop() + delay), [alive = alive_, then] {
    if (*alive) then();
  });
}

void ObjectWriter::say_done(std::string_view verb, Resource resource, std::string_view name) {
  const std::string_view word = event_word(resource);
  if (word.empty()) return;
  voice_.say(EventType::kNormal, fmt::format("Successful{}{}", verb, word),
             fmt::format("{}d {}: {}", verb, lower(word), name));
}

void ObjectWriter::say_failed(std::string_view verb, Resource resource, const Error& error) {
  const std::string_view word = event_word(resource);
  voice_.say(EventType::kWarning,
             fmt::format("Failed{}{}", verb, word.empty() ? resource.kind : word), error.message());
}

}  // namespace capstan::jobs::k8s
