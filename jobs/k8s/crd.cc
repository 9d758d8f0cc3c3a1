#include "jobs/k8s/crd.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jobs/k8s/fields.h"
#include "jobs/k8s/json_at.h"
#include "jobs/k8s/yaml_text.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr const char* kKeepUnknown = "x-kubernetes-preserve-unknown-fields";

json schema_of(const Field& field);

json object_schema(std::span<const Field> fields, bool open) {
  json schema = {{"type", "object"}};
  json required = json::array();
  for (const Field& field : fields) {
    schema["properties"][std::string(field.name)] = schema_of(field);
    if (field.required) required.push_back(field.name);
  }
  if (!required.empty()) schema["required"] = std::move(required);
  if (open) schema[kKeepUnknown] = true;
  return schema;
}

json whole_schema(const Field& field) {
  const bool wide = field.most > std::numeric_limits<int32_t>::max();
  json schema = {{"type", "integer"}, {"format", wide ? "int64" : "int32"}};
  if (field.least != std::numeric_limits<int32_t>::min()) schema["minimum"] = field.least;
  if (field.most < std::numeric_limits<int32_t>::max()) schema["maximum"] = field.most;
  return schema;
}

json text_schema(const Field& field) {
  json schema = {{"type", "string"}};
  if (!field.words.empty()) schema["enum"] = field.words;
  return schema;
}

json list_of(json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
json map_of(json values) {
  return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

json amount_schema() {
  return {{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}},
          {"x-kubernetes-int-or-string", true}};
}

json bare_schema(const Field& field) {
  switch (field.kind) {
    case FieldKind::kText: return text_schema(field);
    case FieldKind::kWhole: return whole_schema(field);
    case FieldKind::kFlag: return {{"type", "boolean"}};
    case FieldKind::kTime: return {{"type", "string"}, {"format", "date-time"}};
    case FieldKind::kObject: return object_schema(field.fields, field.open);
    case FieldKind::kListOf: return list_of(object_schema(field.fields, field.open));
    case FieldKind::kMapOf: return map_of(object_schema(field.fields, field.open));
    case FieldKind::kTexts: return list_of({{"type", "string"}});
    case FieldKind::kWholes: return list_of({{"type", "integer"}});
    case FieldKind::kTextMap: return map_of({{"type", "string"}});
    case FieldKind::kQuantities: return map_of(amount_schema());
    case FieldKind::kAny: return {{kKeepUnknown, true}, {"nullable", true}};
  }
  return {};
}

json schema_of(const Field& field) {
  json schema = bare_schema(field);
  if (!field.doc.empty()) schema["description"] = field.doc;
  if (!field.rule.empty()) {
    schema["x-kubernetes-validations"] =
        json::array({{{"rule", field.rule}, {"message", field.rule_text}}});
  }
  return schema;
}

// Kubernetes describes metadata itself; only the name may be narrowed.
json job_schema() {
  json schema = {{"type", "object"},
                 {"description",
                  "A training job in the manner of TensorFlow's: replicas that find each other by "
                  "TF_CONFIG."},
                 {"required", json::array({"spec"})}};
  json& fields = schema["properties"];
  fields["apiVersion"] = {{"type", "string"}};
  fields["kind"] = {{"type", "string"}};
  fields["metadata"] = {
      {"type", "object"},
      {"properties",
       {{"name",
         {{"type", "string"}, {"maxLength", 63}, {"pattern", "^[a-z]([-a-z0-9]*[a-z0-9])?$"}}}}}};
  fields["spec"] = object_schema(spec_fields(), false);
  fields["spec"]["description"] = "What is to be run.";
  fields["status"] = object_schema(status_fields(), false);
  fields["status"]["description"] = "How the job stands; written by its controller.";
  return schema;
}

json version(const char* name) {
  const json scale = {{"specReplicasPath", ".spec.tfReplicaSpecs.Worker.replicas"},
                      {"statusReplicasPath", ".status.replicaStatuses.Worker.active"},
                      {"labelSelectorPath", ".status.replicaStatuses.Worker.selector"}};
  const json columns = {
      {{"name", "State"}, {"type", "string"}, {"jsonPath", ".status.conditions[-1:].type"}},
      {{"name", "Age"}, {"type", "date"}, {"jsonPath", ".metadata.creationTimestamp"}}};
  return {{"name", name},
          {"served", true},
          {"storage", std::string_view(name) == "v1"},
          {"schema", {{"openAPIV3Schema", job_schema()}}},
          {"subresources", {{"status", json::object()}, {"scale", scale}}},
          {"additionalPrinterColumns", columns}};
}

// Null if it is not served.
const json& version_of(const json& crd, std::string_view name) {
  static const json kNone;
  for (const json& one : list_at(at(crd, "spec"), "versions")) {
    if (text_at(one, "name") == name && flag_at(one, "served", false)) return one;
  }
  return kNone;
}

// Fields by name that a schema does not have, where it drops what it does not know.
void add_missing(std::span<const Field> fields, const json& schema, const std::string& path,
                 std::vector<std::string>& lacks) {
  if (flag_at(schema, kKeepUnknown, false)) return;
  for (const Field& field : fields) {
    const json& there = at(schema, "properties", field.name);
    const std::string name = path + "." + std::string(field.name);
    if (there.is_null()) lacks.push_back(name);
    if (there.is_object() && field.kind == FieldKind::kObject && !field.open) {
      add_missing(field.fields, there, name, lacks);
    }
  }
}

}  // namespace

json crd_json() {
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "tfjobs.kubeflow.org"}, {"labels", {{kPartOfLabel, kPartOf}}}}},
          {"spec",
           {{"group", "kubeflow.org"},
            {"names",
             {{"kind", "TFJob"},
              {"listKind", "TFJobList"},
              {"plural", "tfjobs"},
              {"singular", "tfjob"}}},
            {"scope", "Namespaced"},
            {"conversion", {{"strategy", "None"}}},
            {"versions", {version("v1"), version("v1beta2"), version("v1beta1")}}}}};
}

std::string crd_note(const json& crd) {
  const bool ours = text_at(at(crd, "metadata", "labels"), kPartOfLabel) == kPartOf;
  std::vector<std::string> lacks;
  for (const char* name : {"v1", "v1beta2", "v1beta1"}) {
    const json& there = version_of(crd, name);
    if (there.is_null()) lacks.push_back(std::string("version ") + name);
    if (there.is_null() || std::string_view(name) != "v1") continue;
    const json& spec = at(there, "schema", "openAPIV3Schema", "properties", "spec");
    add_missing(spec_fields(), spec, "spec", lacks);
  }
  if (ours && lacks.empty()) return "";
  return fmt::format("the definition of TFJobs in this cluster is {}{}{}. To have Capstan's: {}",
                     ours ? "an older one of Capstan's" : "another owner's",
                     lacks.empty() ? "" : "; what it does not know is dropped in silence: ",
                     fmt::join(lacks, ", "),
                     "capstan validate --print-crd | kubectl apply --server-side --force-conflicts "
                     "-f -");
}

std::string crd_text() {
  return "# Written by `capstan validate --print-crd`, from jobs/k8s/fields.cc.\n" +
         yaml_text(crd_json());
}

}  // namespace capstan::jobs::k8s
