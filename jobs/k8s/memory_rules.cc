#include "jobs/k8s/memory_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "jobs/k8s/kube_error.h"
#include "jobs/k8s/query.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

Refused invalid(const ApiCall& call, std::string_view what) {
  return {422, "Invalid",
          fmt::format("{} \"{}\" is invalid: {}", call.resource.kind, call.object.name, what)};
}

Refused conflict(const ApiCall& call, std::string_view what) {
  return {409, "Conflict",
          fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", call.resource.plural,
                      call.object.name, what)};
}

bool name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_label_value(const std::string& value) {
  const auto alnum = [](char c) { return name_char(c) || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; };
  return value.empty() || (value.size() <= 63 && std::ranges::all_of(value, fits) &&
                           alnum(value.front()) && alnum(value.back()));
}

void check_labels(const ApiCall& call, const json& object) {
  const json& metadata = metadata_of(object);
  if (!metadata.contains("labels") || metadata["labels"].is_null()) return;
  for (const auto& [key, value] : metadata["labels"].items()) {
    if (!value.is_string()) throw Refused{400, "BadRequest", "labels are texts"};
    if (is_label_value(value.get<std::string>())) continue;
    throw invalid(call, fmt::format("metadata.labels: Invalid value: {}", value.dump()));
  }
}

// What the server sets, and no client.
constexpr const char* kSystemFields[] = {"uid",
                                         "creationTimestamp",
                                         "generation",
                                         "deletionTimestamp",
                                         "deletionGracePeriodSeconds",
                                         "resourceVersion",
                                         "name",
                                         "namespace",
                                         "generateName"};

void keep_system_fields(const json& before, json& object) {
  json& metadata = object["metadata"];
  for (const char* field : kSystemFields) {
    metadata.erase(field);
    if (before["metadata"].contains(field)) metadata[field] = before["metadata"][field];
  }
}

json without_upkeep(const json& object) {
  json rest = object;
  rest.erase("metadata");
  rest.erase("status");
  return rest;
}

bool counts_generations(const Resource& resource) {
  return is_custom(resource) || resource == kPods || resource == kDeployments;
}

// Kinds that may be overwritten without naming the version that was read.
bool may_overwrite_blindly(const Resource& resource) {
  return !is_custom(resource) && resource != kLeases && resource != kCrds;
}

void check_versions(const ApiCall& call, const json& before, const json& wanted) {
  const json& metadata = metadata_of(wanted);
  const std::string& uid = text_at(metadata, "uid");
  if (!uid.empty() && uid != text_at(before["metadata"], "uid")) {
    throw conflict(call, "Precondition failed: UID in precondition: " + uid);
  }
  const std::string& version = text_at(metadata, "resourceVersion");
  if (version.empty() && call.verb == Verb::kUpdate && !may_overwrite_blindly(call.resource)) {
    throw invalid(call,
                  "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update");
  }
  if (!version.empty() && version != text_at(before["metadata"], "resourceVersion")) {
    throw conflict(call,
                   "the object has been modified; please apply your changes to the latest version "
                   "and try again");
  }
}

int64_t whole_or(const json& object, const char* name, int64_t otherwise) {
  if (!object.is_object() || !object.contains(name)) return otherwise;
  return object[name].is_number_integer() ? object[name].get<int64_t>() : otherwise;
}

// From the body or the query; -1: not given.
int64_t asked_grace(const ApiCall& call) {
  if (call.body && call.body->is_object() && call.body->contains("gracePeriodSeconds")) {
    return whole_or(*call.body, "gracePeriodSeconds", -1);
  }
  const Query query = parse_query(call.query);
  const std::string_view text = query_value(query, "gracePeriodSeconds");
  int64_t grace = -1;
  std::from_chars(text.data(), text.data() + text.size(), grace);
  return grace;
}

}  // namespace

bool is_custom(const Resource& resource) {
  return resource.group.find('.') != resource.group.npos && !resource.group.ends_with(".k8s.io");
}

bool has_status(const Resource& resource) {
  return is_custom(resource) || resource == kPods || resource == kServices ||
         resource == kDeployments || resource == kNodes || resource == kNamespaces;
}

const std::string& text_at(const json& object, const char* name) {
  static const std::string kEmpty;
  if (!object.is_object()) return kEmpty;
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get_ref<const std::string&>()
                                                     : kEmpty;
}

const json& metadata_of(const json& object) {
  static const json kEmpty = json::object();
  auto found = object.is_object() ? object.find("metadata") : object.end();
  return object.is_object() && found != object.end() && found->is_object() ? *found : kEmpty;
}

void check_name(const Resource& resource, const std::string& name) {
  const bool label = resource == kServices;
  const auto fits = [&](char c) { return name_char(c) || c == '-' || (c == '.' && !label); };
  const bool good = !name.empty() && name.size() <= (label ? 63u : 253u) &&
                    std::ranges::all_of(name, fits) && name_char(name.front()) &&
                    name_char(name.back()) && !(label && name.front() <= '9');
  if (good) return;
  throw Refused{422, "Invalid",
                fmt::format("{} {} is invalid: metadata.name: Invalid value: {}", resource.kind,
                            json(name).dump(), json(name).dump())};
}

void check_body(const ApiCall& call) {
  if (!call.body || !call.body->is_object()) {
    throw Refused{400, "BadRequest", "the object provided is unrecognized"};
  }
  const json& body = *call.body;
  const std::string& kind = text_at(body, "kind");
  if (kind.empty() && is_custom(call.resource)) {
    throw Refused{400, "BadRequest", "Object 'Kind' is missing"};
  }
  if (!kind.empty() && kind != call.resource.kind) {
    throw Refused{
        400, "BadRequest",
        fmt::format("{} in the body is not the {} of the address", kind, call.resource.kind)};
  }
  const std::string& space = text_at(metadata_of(body), "namespace");
  if (!space.empty() && space != call.object.space) {
    throw Refused{400, "BadRequest",
                  "the namespace of the provided object does not match the namespace sent on the "
                  "request"};
  }
  check_labels(call, body);
}

json merged(const ApiCall& call, const json& before, json&& wanted) {
  check_versions(call, before, wanted);
  const bool status_only = call.subresource == "status";
  json after = status_only ? before : std::move(wanted);
  if (!status_only) {
    check_labels(call, after);
    keep_system_fields(before, after);
    after["kind"] = before["kind"];
    after["apiVersion"] = before["apiVersion"];
  }
  if (has_status(call.resource)) {
    const json& from = status_only ? wanted : before;
    after.erase("status");
    if (from.contains("status")) after["status"] = from["status"];
  }
  const bool deeper = without_upkeep(after) != without_upkeep(before);
  if (deeper && counts_generations(call.resource)) {
    after["metadata"]["generation"] = whole_or(before["metadata"], "generation", 0) + 1;
  }
  return after;
}

json fresh(const Resource& resource, json&& object) {
  json& metadata = object["metadata"];
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation"}) {
    metadata.erase(field);
  }
  object["kind"] = resource.kind;
  object["apiVersion"] = api_version_of(resource);
  if (has_status(resource)) object.erase("status");
  if (counts_generations(resource)) metadata["generation"] = 1;
  if (resource == kPods) object["status"] = {{"phase", "Pending"}};
  if (resource == kServices) object["status"] = {{"loadBalancer", json::object()}};
  return std::move(object);
}

int64_t grace_of(const ApiCall& call, const json& object) {
  if (call.resource != kPods) return 0;
  const json spec = object.value("spec", json::object());
  const std::string phase = text_at(object.value("status", json::object()), "phase");
  if (text_at(spec, "nodeName").empty() || phase == "Succeeded" || phase == "Failed") return 0;
  const int64_t asked = asked_grace(call);
  return asked >= 0 ? asked : whole_or(spec, "terminationGracePeriodSeconds", 30);
}

void check_preconditions(const ApiCall& call, const json& object) {
  if (!call.body || !call.body->is_object()) return;
  const json wanted = call.body->value("preconditions", json::object());
  for (const char* field : {"uid", "resourceVersion"}) {
    const std::string& value = text_at(wanted, field);
    if (value.empty() || value == text_at(object["metadata"], field)) continue;
    throw conflict(call, fmt::format("Precondition failed: {} in precondition: {}, in object meta: "
                                     "{}",
                                     field, value, text_at(object["metadata"], field)));
  }
}

}  // namespace capstan::jobs::k8s
