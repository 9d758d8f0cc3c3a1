#pragma once

// Every behaviour of the API that the operator counts on, against each API that there is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/api_host.h"

namespace capstan::jobs::k8s {

class Events : public WatchSink {
 public:
  void event(std::string_view type, nlohmann::json&& object) override {
    if (type == "BOOKMARK") return;
    all.push_back(std::string(type) + " " + object["metadata"]["name"].get<std::string>());
    objects.push_back(std::move(object));
  }
  void closed(const std::optional<Error>& error, int code) override {
    end = code;
    why = error ? error->message() : "";
  }
  std::vector<std::string> all;
  std::vector<nlohmann::json> objects;
  std::optional<int> end;
  std::string why;
};

class ApiSuite : public testing::TestWithParam<ApiKind> {
 protected:
  using json = nlohmann::json;

  void SetUp() override {
    if (GetParam() == ApiKind::kServer && test_kubeconfig().empty()) {
      GTEST_SKIP() << "CAPSTAN_TEST_KUBECONFIG names no server";
    }
    host = std::make_unique<ApiHost>(GetParam());
  }

  static std::shared_ptr<const json> shared(json body) {
    return std::make_shared<const json>(std::move(body));
  }
  ApiAnswer create(const Resource& resource, json body) {
    body["apiVersion"] = api_version_of(resource);
    body["kind"] = resource.kind;
    return host->ask({.verb = Verb::kCreate,
                      .resource = resource,
                      .object = {host->space(), ""},
                      .body = shared(std::move(body))});
  }
  // Of an object that must be made.
  json made(const Resource& resource, json body) {
    const ApiAnswer answer = create(resource, std::move(body));
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error->message());
    return answer.ok() ? *answer.body : json();
  }
  json widget(const std::string& name, json labels = json::object()) {
    return made(kWidgets,
                {{"metadata", {{"name", name}, {"labels", labels}}}, {"spec", {{"size", 1}}}});
  }
  static json pod_body(const std::string& name, const std::string& node = "") {
    json pod = {{"metadata", {{"name", name}}},
                {"spec",
                 {{"schedulerName", "nobody"},
                  {"containers", {{{"name", "tensorflow"}, {"image", "i"}}}}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    return pod;
  }
  ApiAnswer on(Verb verb, const Resource& resource, const std::string& name, json body = nullptr,
               std::string_view subresource = "", std::string query = "") {
    return host->ask({.verb = verb,
                      .resource = resource,
                      .object = {host->space(), name},
                      .subresource = subresource,
                      .query = std::move(query),
                      .body = body.is_null() ? nullptr : shared(std::move(body))});
  }
  ApiAnswer get(const Resource& resource, const std::string& name) {
    return on(Verb::kGet, resource, name);
  }
  ApiAnswer list(const Resource& resource, const std::string& query = "") {
    return on(Verb::kGet, resource, "", nullptr, "", query);
  }
  static std::vector<std::string> names(const ApiAnswer& list) {
    std::vector<std::string> names;
    for (const json& item : (*list.body)["items"]) names.push_back(item["metadata"]["name"]);
    return names;
  }
  static std::string version(const json& object) { return object["metadata"]["resourceVersion"]; }
  std::unique_ptr<Watch> watch(const Resource& resource, const std::string& query) {
    return host->api().watch(resource, host->space(), query, events);
  }
  bool sees(size_t count) {
    return host->run_until([&] { return events.all.size() >= count; });
  }

  std::unique_ptr<ApiHost> host;
  Events events;
};

inline std::string kind_name(const testing::TestParamInfo<ApiKind>& info) {
  return info.param == ApiKind::kMemory ? "Memory" : "Server";
}

}  // namespace capstan::jobs::k8s
