#include "jobs/k8s/local_env.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "jobs/job_record.h"
#include "jobs/k8s/json_at.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

const std::string* find(const Variables& variables, std::string_view name) {
  for (auto one = variables.rbegin(); one != variables.rend(); ++one) {
    if (one->first == name) return &one->second;
  }
  return nullptr;
}

// metadata.labels['app']
std::optional<std::string> entry_of(const json& pod, std::string_view path) {
  for (const char* map : {"labels", "annotations"}) {
    const std::string begin = fmt::format("metadata.{}['", map);
    if (!path.starts_with(begin) || !path.ends_with("']")) continue;
    const std::string_view key = path.substr(begin.size(), path.size() - begin.size() - 2);
    return text_at(at(pod, "metadata", map), key);
  }
  return std::nullopt;
}

std::optional<std::string> pod_field(const json& pod, std::string_view path) {
  for (const char* name : {"name", "namespace", "uid"}) {
    if (path == fmt::format("metadata.{}", name)) return text_at(at(pod, "metadata"), name);
  }
  if (path == "spec.nodeName") return host_name();
  if (path == "spec.serviceAccountName") return text_at(at(pod, "spec"), "serviceAccountName");
  if (path == "status.podIP" || path == "status.hostIP") return "127.0.0.1";
  return entry_of(pod, path);
}

std::string where_it_is(const json& source) {
  for (const char* kind : {"secretKeyRef", "configMapKeyRef"}) {
    const json& ref = at(source, kind);
    if (!ref.is_object()) continue;
    const bool secret = std::string_view(kind) == "secretKeyRef";
    return fmt::format("in the {} {} of the cluster", secret ? "Secret" : "ConfigMap",
                       printable(text_at(ref, "name")));
  }
  return "known only in the cluster";
}

bool is_optional(const json& source) {
  return flag_at(at(source, "secretKeyRef"), "optional", false) ||
         flag_at(at(source, "configMapKeyRef"), "optional", false);
}

}  // namespace

std::string expand(std::string_view text, const Variables& variables) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : 0;
    if (text[i] != '$' || (next != '$' && next != '(')) {
      out += text[i];
      continue;
    }
    const size_t end = text.find(')', i);
    const std::string* value = next == '(' && end != text.npos
                                   ? find(variables, text.substr(i + 2, end - i - 2))
                                   : nullptr;
    out += value ? *value : "$";
    if (value) i = end;
    if (next == '$') ++i;
  }
  return out;
}

Variables container_env(const json& pod, const json& container, const Variables& given,
                        const std::string& path, std::vector<FieldError>& errors) {
  Variables out;
  const json::array_t& list = list_at(container, "env");
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string name = text_at(list[i], "name");
    const json& source = at(list[i], "valueFrom");
    if (const std::string* over = find(given, name)) {
      out.emplace_back(name, *over);
    } else if (!source.is_object()) {
      out.emplace_back(name, expand(text_at(list[i], "value"), out));
    } else if (auto value = pod_field(pod, text_at(at(source, "fieldRef"), "fieldPath"))) {
      out.emplace_back(name, *value);
    } else if (!is_optional(source)) {
      errors.push_back({fmt::format("{}.env[{}]", path, i), "NotSupported",
                        fmt::format("the value of {0} is {1}; give it: --env {0}=VALUE",
                                    printable(name), where_it_is(source))});
    }
  }
  for (const auto& one : given) {
    if (!find(out, one.first)) out.push_back(one);
  }
  return out;
}

}  // namespace capstan::jobs::k8s
