#include "jobs/k8s/crd.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "jobs/k8s/test_jobs.h"
#include "jobs/k8s/yaml_text.h"
#include "source_dir.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::string file(const std::string& name) {
  std::ifstream in(std::string(source_dir()) + "/" + name);
  EXPECT_TRUE(in) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<json> objects_in(const std::string& name) {
  std::vector<json> out;
  for (const Document& one : read_documents(file(name), name)) out.push_back(*one.json);
  return out;
}

// Kubernetes refuses a schema that is not structural: every node has a type, unless it says that
// anything goes.
void check_structural(const json& schema, const std::string& path) {
  const bool anything = schema.value("x-kubernetes-preserve-unknown-fields", false) ||
                        schema.value("x-kubernetes-int-or-string", false);
  EXPECT_TRUE(schema.contains("type") || anything) << path;
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, one] : properties.items()) check_structural(one, path + "." + name);
  for (const char* below : {"items", "additionalProperties"}) {
    if (schema.contains(below)) check_structural(schema[below], path + "." + below);
  }
  EXPECT_FALSE(schema.contains("properties") && schema.contains("additionalProperties")) << path;
}

// As the API server would: types, words, bounds, what is required. Metadata it knows by itself.
std::vector<std::string> refused(const json& schema, const json& value, const std::string& path) {
  std::vector<std::string> out;
  if (path == ".metadata") return out;
  const std::string type = schema.value("type", "");
  const bool fits =
      (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
      (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
      (type == "integer" && value.is_number_integer()) || type.empty();
  if (!fits) return {path + ": type"};
  auto below = [&](const json& inner, const json& one, const std::string& name) {
    for (std::string& error : refused(inner, one, path + "." + name)) out.push_back(error);
  };
  if (value.is_array() && schema.contains("items")) {
    for (const json& one : value) below(schema["items"], one, "[]");
  }
  if (value.is_object()) {
    for (const json& name : schema.value("required", json::array())) {
      if (!value.contains(name)) out.push_back(path + "." + name.get<std::string>() + ": required");
    }
    const json properties = schema.value("properties", json::object());
    for (const auto& [name, one] : value.items()) {
      if (properties.contains(name)) {
        below(properties[name], one, name);
      } else if (schema.contains("additionalProperties")) {
        below(schema["additionalProperties"], one, name);
      } else if (!schema.value("x-kubernetes-preserve-unknown-fields", false) && !type.empty()) {
        out.push_back(path + "." + name + ": pruned");
      }
    }
  }
  const json words = schema.value("enum", json::array());
  if (!words.empty() && std::ranges::find(words, value) == words.end())
    out.push_back(path + ": enum");
  if (schema.contains("minimum") && value < schema["minimum"]) out.push_back(path + ": minimum");
  return out;
}

const json& v1_schema() {
  static const json kSchema = crd_json()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  return kSchema;
}

TEST(Crd, TheFileIsWhatTheTablesSay) {
  EXPECT_EQ(file("deploy/k8s/crd.yaml"), crd_text())
      << "build/dev/src/main/capstan validate --print-crd > deploy/k8s/crd.yaml";
}

TEST(Crd, IsStructuralInEveryVersion) {
  const json versions = crd_json()["spec"]["versions"];
  std::vector<std::string> names;
  int stored = 0;
  for (const json& version : versions) {
    names.push_back(version["name"]);
    stored += version["storage"].get<bool>();
    check_structural(version["schema"]["openAPIV3Schema"], names.back());
    EXPECT_TRUE(version["subresources"].contains("status"));
    EXPECT_EQ(version["additionalPrinterColumns"][0]["name"], "State");
  }
  EXPECT_THAT(names, ElementsAre("v1", "v1beta2", "v1beta1"));
  EXPECT_EQ(stored, 1);
}

TEST(Crd, EveryFieldIsExplained) {
  const json& spec = v1_schema()["properties"]["spec"];
  for (const auto& [name, one] : spec["properties"].items()) {
    EXPECT_FALSE(one.value("description", "").empty()) << name;
  }
}

TEST(Crd, TakesJobsThatWeTakeAndRefusesWhatWeRefuse) {
  EXPECT_THAT(refused(v1_schema(), job_json({{"Worker", 1}}), ""), ElementsAre());
  for (const json& job : objects_in("examples/k8s/tfjob.yaml")) {
    EXPECT_THAT(refused(v1_schema(), job, ""), ElementsAre());
    EXPECT_THAT(errors_of(job), ElementsAre());
  }
  const json bad[] = {job_json({}), job_json({{"Worker", -1}}),
                      job_json({{"Worker", 1}}, {{"cleanPodPolicy", "Some"}}),
                      job_json({{"Worker", 1}}, {{"runPolicy", {{"suspend", "yes"}}}}),
                      job_json({{"Worker", 1}}, {{"unknown", 1}})};
  for (const json& job : bad) {
    EXPECT_EQ(refused(v1_schema(), job, "").size(), 1u) << job;
    EXPECT_EQ(errors_of(job).size(), 1u) << job;
  }
}

TEST(Crd, KeepsTheWholeOfAStatus) {
  const json status = {{"conditions",
                        {{{"type", "Running"},
                          {"status", "True"},
                          {"reason", "r"},
                          {"message", "m"},
                          {"lastUpdateTime", "2026-01-01T00:00:00Z"},
                          {"lastTransitionTime", "2026-01-01T00:00:00Z"}}}},
                       {"replicaStatuses",
                        {{"Worker",
                          {{"active", 1},
                           {"succeeded", 1},
                           {"failed", 1},
                           {"pending", 1},
                           {"restartCount", 1},
                           {"finished", {0, 2}},
                           {"selector", "a=b"}}}}},
                       {"startTime", "2026-01-01T00:00:00Z"},
                       {"completionTime", "2026-01-01T00:00:00Z"},
                       {"lastReconcileTime", "2026-01-01T00:00:00Z"},
                       {"controller", {{"anything", {{"at", "all"}}}}}};
  EXPECT_THAT(refused(v1_schema()["properties"]["status"], status, ""), ElementsAre());
}

TEST(DeployFiles, NameEachOther) {
  const auto rbac = objects_in("deploy/k8s/rbac.yaml");
  const auto operators = objects_in("deploy/k8s/operator.yaml");
  ASSERT_EQ(operators.size(), 1u);
  const json& pod = operators[0]["spec"]["template"];
  EXPECT_EQ(operators[0]["spec"]["selector"]["matchLabels"].items().begin().value(),
            pod["metadata"]["labels"]["app.kubernetes.io/name"]);
  const json account = {{"kind", "ServiceAccount"},
                        {"name", pod["spec"]["serviceAccountName"]},
                        {"namespace", operators[0]["metadata"]["namespace"]}};
  int bindings = 0;
  for (const json& object : rbac) {
    if (!object.contains("subjects")) continue;
    EXPECT_EQ(object["subjects"], json::array({account}));
    ++bindings;
  }
  EXPECT_EQ(bindings, 2);
}

TEST(DeployFiles, GiveNoRightToEverything) {
  for (const json& object : objects_in("deploy/k8s/rbac.yaml")) {
    for (const json& rule : object.value("rules", json::array())) {
      EXPECT_EQ(rule.dump().find('*'), std::string::npos) << rule;
      const bool secrets = rule["resources"] == json::array({"secrets"});
      EXPECT_TRUE(!secrets || rule["verbs"] == json::array({"create"})) << rule;
    }
  }
}

TEST(DeployFiles, ContainersRunAsNobody) {
  const json operators = objects_in("deploy/k8s/operator.yaml").at(0);
  const json& pod = operators["spec"]["template"]["spec"];
  EXPECT_EQ(pod["securityContext"]["runAsNonRoot"], true);
  for (const json& container : pod["containers"]) {
    EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
    EXPECT_TRUE(container["resources"]["limits"].contains("memory"));
  }
}

TEST(DeployFiles, TheProgramsImageHasFourLines) {
  const std::string text = file("deploy/k8s/program.Containerfile");
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_THAT(text, testing::StartsWith("FROM capstan\n"));
  EXPECT_THAT(text, testing::HasSubstr("\nENTRYPOINT [\"capstan\", \"python\", "));
}

TEST(YamlText, IsReadAsTheSameValue) {
  const json value = {
      {"text", "yes"},      {"number", "12"},
      {"colon", "a: b"},    {"empty", json::object()},
      {"none", nullptr},    {"list", {1, json::array({2}), json::object({{"a", 1}})}},
      {"hash", "a #b"},     {"lines", "a\nb"},
      {"quote", "it's \""}, {"é", "ü"}};
  EXPECT_EQ(*read_documents(yaml_text(value), "t").at(0).json, value) << yaml_text(value);
}

TEST(CrdNote, SaysNothingOfOurOwn) { EXPECT_EQ(crd_note(crd_json()), ""); }

TEST(CrdNote, NamesWhatAnotherOwnersDefinitionWouldDrop) {
  json other = crd_json();
  other["metadata"].erase("labels");
  other["spec"]["versions"].erase(2);
  json& spec = other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
  spec["properties"].erase("tensorboard");
  spec["properties"]["runPolicy"]["properties"].erase("restartScope");
  EXPECT_THAT(crd_note(other),
              testing::HasSubstr("is another owner's; what it does not know is "
                                 "dropped in silence: spec.runPolicy.restartScope, "
                                 "spec.tensorboard, version v1beta1"));
}

}  // namespace
}  // namespace capstan::jobs::k8s
