#include "jobs/k8s/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "jobs/k8s/kube_error.h"
#include "jobs/k8s/memory_rules.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr size_t kMostChanges = 100'000, kMostSnapshots = 100;

ApiAnswer answer(int code, json body) {
  return {.code = code, .body = std::make_shared<json>(std::move(body))};
}

ApiAnswer refused(const ApiCall& call, const Refused& why) {
  json status = status_json(why.code, why.reason, why.message);
  if (!call.object.name.empty()) status["details"] = {{"name", call.object.name}};
  ApiAnswer answer{.code = why.code, .error = refusal(asked_of(call), why.code, &status)};
  answer.body = std::make_shared<json>(std::move(status));
  return answer;
}

Refused not_there(const ApiCall& call) {
  const std::string group =
      call.resource.group.empty() ? "" : "." + std::string(call.resource.group);
  return {404, "NotFound",
          fmt::format("{}{} \"{}\" not found", call.resource.plural, group, call.object.name)};
}

// A CRD's plurals know two fields only.
Selector selector_of(const Resource& resource, const Query& query) {
  Selector selector(query_value(query, "labelSelector"), query_value(query, "fieldSelector"));
  for (const std::string& field : selector.fields()) {
    const bool known =
        !is_custom(resource) || field == "metadata.name" || field == "metadata.namespace";
    if (!known) throw Refused{400, "BadRequest", "field label not supported: " + field};
  }
  return selector;
}

bool without_finalizers(const json& object) {
  const json& metadata = metadata_of(object);
  return !metadata.contains("finalizers") || metadata["finalizers"].empty();
}

// Nothing holds it any more.
bool may_go(const json& object) {
  const json& metadata = metadata_of(object);
  return metadata.contains("deletionTimestamp") && without_finalizers(object) &&
         metadata.value("deletionGracePeriodSeconds", json(0)) == 0;
}

json removed_status(const ApiCall& call) {
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"status", "Success"},
          {"details", {{"name", call.object.name}, {"kind", call.resource.plural}}}};
}

}  // namespace

std::string folder_of(const Resource& resource) {
  return std::string(resource.group) + "/" + std::string(resource.plural);
}

json MemoryStore::shown(const Resource& resource, const json& object) {
  json copy = object;
  copy["apiVersion"] = api_version_of(resource);
  return copy;
}

ApiAnswer MemoryStore::apply(const ApiCall& call) {
  try {
    return done(call);
  } catch (const Refused& why) {
    return refused(call, why);
  } catch (const Error& error) {  // a selector that is none
    return refused(call, {400, "BadRequest", error.message()});
  }
}

ApiAnswer MemoryStore::done(const ApiCall& call) {
  if (call.subresource == "binding") return bind(call);
  const bool plain =
      call.subresource.empty() || (call.subresource == "status" && has_status(call.resource));
  if (!plain) throw Refused{404, "NotFound", "the server could not find the requested resource"};
  switch (call.verb) {
    case Verb::kGet: return call.object.name.empty() ? list(call) : get(call);
    case Verb::kCreate: return create(call);
    case Verb::kUpdate:
    case Verb::kMergePatch: return update(call);
    case Verb::kApply: return apply_fields(call);
    case Verb::kDelete: break;
  }
  return call.object.name.empty() ? remove_all(call) : remove(call);
}

ApiAnswer MemoryStore::get(const ApiCall& call) {
  return answer(200, shown(call.resource, *find(call)));
}

ApiAnswer MemoryStore::list(const ApiCall& call) {
  const Query query = parse_query(call.query);
  int64_t limit = 0;
  const std::string_view text = query_value(query, "limit");
  std::from_chars(text.data(), text.data() + text.size(), limit);
  if (const auto token = query_value(query, "continue"); !token.empty()) {
    auto found = snapshots_.find(token);
    if (found == snapshots_.end()) {
      throw Refused{410, "Expired", "The provided continue parameter is too old"};
    }
    return page(call, found->second, limit);
  }
  const Selector selector = selector_of(call.resource, query);
  Snapshot snapshot{.version = version_};
  for (const auto& [name, object] : all(call.resource)) {
    const bool here = call.object.space.empty() || name.space == call.object.space;
    if (here && selector.matches(*object)) snapshot.rest.push_back(object);
  }
  return page(call, std::move(snapshot), limit);
}

ApiAnswer MemoryStore::page(const ApiCall& call, Snapshot snapshot, int64_t limit) {
  json items = json::array();
  const size_t all = snapshot.rest.size();
  const size_t count = limit > 0 ? std::min<size_t>(limit, all) : all;
  for (size_t i = 0; i < count; ++i) {
    json item = shown(call.resource, *snapshot.rest[i]);
    // The server leaves these out in lists of its own kinds.
    if (!is_custom(call.resource)) item.erase("kind"), item.erase("apiVersion");
    items.push_back(std::move(item));
  }
  json metadata = {{"resourceVersion", std::to_string(snapshot.version)}};
  if (count < all) {
    const std::string token = fmt::format("c{}", next_snapshot_++);
    metadata["continue"] = token;
    metadata["remainingItemCount"] = all - count;
    snapshot.rest.erase(snapshot.rest.begin(), snapshot.rest.begin() + ptrdiff_t(count));
    if (snapshots_.size() >= kMostSnapshots) snapshots_.clear();
    snapshots_[token] = std::move(snapshot);
  }
  return answer(200, {{"kind", std::string(call.resource.kind) + "List"},
                      {"apiVersion", api_version_of(call.resource)},
                      {"metadata", std::move(metadata)},
                      {"items", std::move(items)}});
}

ApiAnswer MemoryStore::create(const ApiCall& call) {
  check_body(call);
  json object = *call.body;
  json& metadata = object["metadata"];
  if (metadata.is_null()) metadata = json::object();
  if (metadata.contains("resourceVersion")) {
    throw Refused{400, "BadRequest", "resourceVersion should not be set on objects to be created"};
  }
  ObjectName name{call.object.space, text_at(metadata, "name")};
  if (name.name.empty() && !text_at(metadata, "generateName").empty()) {
    name.name = generated(text_at(metadata, "generateName"));
  }
  check_name(call.resource, name.name);
  if (kind_of(call.resource).objects.contains(name)) {
    throw Refused{409, "AlreadyExists",
                  fmt::format("{} \"{}\" already exists", call.resource.plural, name.name)};
  }
  metadata["name"] = name.name;
  if (call.resource.namespaced) metadata["namespace"] = name.space;
  metadata["uid"] = new_uid();
  metadata["creationTimestamp"] = kube_time(clock_());
  return answer(201, *put(call.resource, name, fresh(call.resource, std::move(object))));
}

ApiAnswer MemoryStore::update(const ApiCall& call) {
  const Object before = find(call);
  if (call.verb == Verb::kMergePatch) {
    json wanted = *before;
    // The version stands for itself only if the patch names it.
    wanted["metadata"].erase("resourceVersion");
    if (call.body) wanted.merge_patch(*call.body);
    return write(call, before, std::move(wanted));
  }
  check_body(call);
  return write(call, before, json(*call.body));
}

// Who owns which field is not known here: nothing is taken away.
ApiAnswer MemoryStore::apply_fields(const ApiCall& call) {
  check_body(call);
  const bool dry = query_value(parse_query(call.query), "dryRun") == "All";
  if (!all(call.resource).contains(call.object)) {
    ApiCall creation = call;
    creation.verb = Verb::kCreate;
    return dry ? answer(201, *call.body) : create(creation);
  }
  ApiCall patch = call;
  patch.verb = Verb::kMergePatch;
  return dry ? answer(200, *call.body) : update(patch);
}

ApiAnswer MemoryStore::write(const ApiCall& call, const Object& before, json&& wanted) {
  json after = merged(call, *before, std::move(wanted));
  if (after == *before) return answer(200, shown(call.resource, *before));
  if (may_go(after)) {
    erase(call.resource, call.object);
    return answer(200, shown(call.resource, after));
  }
  return answer(200, shown(call.resource, *put(call.resource, call.object, std::move(after))));
}

ApiAnswer MemoryStore::bind(const ApiCall& call) {
  const Object before = find(call);
  json after = *before;
  const json target = call.body ? call.body->value("target", json::object()) : json::object();
  after["spec"]["nodeName"] = text_at(target, "name");
  put(call.resource, call.object, std::move(after));
  return answer(201, removed_status(call));
}

ApiAnswer MemoryStore::remove(const ApiCall& call) {
  const Object before = find(call);
  check_preconditions(call, *before);
  const int64_t grace = grace_of(call, *before);
  if (grace > 0 || !without_finalizers(*before)) return soft_delete(call, before, grace);
  erase(call.resource, call.object);
  return answer(200, call.resource == kPods ? shown(kPods, *before) : removed_status(call));
}

ApiAnswer MemoryStore::soft_delete(const ApiCall& call, const Object& before, int64_t grace) {
  json after = *before;
  json& metadata = after["metadata"];
  const bool dying = metadata.contains("deletionTimestamp");
  const int64_t left = dying ? metadata["deletionGracePeriodSeconds"].get<int64_t>() : grace;
  if (dying && grace >= left) return answer(200, shown(call.resource, *before));
  metadata["deletionTimestamp"] = kube_time(clock_() + double(grace));
  metadata["deletionGracePeriodSeconds"] = grace;
  return answer(200, shown(call.resource, *put(call.resource, call.object, std::move(after))));
}

ApiAnswer MemoryStore::remove_all(const ApiCall& call) {
  ApiAnswer listed = list(
      {.verb = Verb::kGet, .resource = call.resource, .object = call.object, .query = call.query});
  for (const json& item : (*listed.body)["items"]) {
    ApiCall one = call;
    one.object = {text_at(item["metadata"], "namespace"), text_at(item["metadata"], "name")};
    remove(one);
  }
  return listed;
}

Object MemoryStore::find(const ApiCall& call) const {
  auto kind = kinds_.find(folder_of(call.resource));
  if (kind == kinds_.end()) throw not_there(call);
  auto found = kind->second.objects.find(call.object);
  if (found == kind->second.objects.end()) throw not_there(call);
  return found->second;
}

std::map<ObjectName, Object> MemoryStore::all(const Resource& resource) const {
  auto kind = kinds_.find(folder_of(resource));
  return kind == kinds_.end() ? std::map<ObjectName, Object>() : kind->second.objects;
}

MemoryStore::Kind& MemoryStore::kind_of(const Resource& resource) {
  Kind& kind = kinds_[folder_of(resource)];
  if (kind.resource.plural.empty()) kind.resource = resource;
  return kind;
}

Object MemoryStore::put(const Resource& resource, const ObjectName& name, json&& object) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  Object& place = kind_of(resource).objects[name];
  if (!place) ++uids_[text_at(object["metadata"], "uid")];
  Object before = place;
  place = std::make_shared<json>(std::move(object));
  remember({version_, folder_of(resource), name, std::move(before), place});
  return place;
}

void MemoryStore::erase(const Resource& resource, const ObjectName& name) {
  auto& objects = kind_of(resource).objects;
  auto found = objects.find(name);
  if (found == objects.end()) return;
  uids_.erase(text_at((*found->second)["metadata"], "uid"));
  remember({++version_, folder_of(resource), name, found->second, nullptr});
  objects.erase(found);
}

void MemoryStore::remember(Change change) {
  changes_.push_back(std::move(change));
  if (changes_.size() <= kMostChanges) return;
  oldest_ = changes_.front().version;
  changes_.pop_front();
}

const Change* MemoryStore::next_change(uint64_t version) const {
  auto found = std::ranges::upper_bound(changes_, version, {}, &Change::version);
  return found == changes_.end() ? nullptr : &*found;
}

void MemoryStore::compact() {
  changes_.clear();
  snapshots_.clear();
  oldest_ = version_;
}

std::string MemoryStore::generated(const std::string& prefix) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string name = prefix.substr(0, 58);
  for (int i = 0; i < 5; ++i) name += kLetters[random_.u64() % kLetters.size()];
  return name;
}

std::string MemoryStore::new_uid() {
  const uint64_t a = random_.u64(), b = random_.u64();
  return fmt::format("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", a >> 32, a >> 16 & 0xffff, a & 0xfff,
                     b >> 52, b & 0xffffffffffff);
}

void MemoryStore::collect_garbage() {
  while (collect_one()) {
  }
}

bool MemoryStore::has_uid(const std::string& uid) const { return uids_.contains(uid); }

bool MemoryStore::is_orphan(const json& object) const {
  const json& metadata = metadata_of(object);
  if (!metadata.contains("ownerReferences") || metadata["ownerReferences"].empty()) return false;
  if (metadata.contains("deletionTimestamp")) return false;
  return std::ranges::none_of(metadata["ownerReferences"],
                              [&](const json& owner) { return has_uid(text_at(owner, "uid")); });
}

bool MemoryStore::collect_one() {
  for (const auto& [folder, kind] : kinds_) {
    for (const auto& [name, object] : kind.objects) {
      if (!is_orphan(*object)) continue;
      apply({.verb = Verb::kDelete, .resource = kind.resource, .object = ObjectName(name)});
      return true;
    }
  }
  return false;
}

}  // namespace capstan::jobs::k8s
