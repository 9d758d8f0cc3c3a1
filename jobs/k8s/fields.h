#pragma once

// Which fields a TFJob has, said once: reading checks names and types by these tables, and the
// CustomResourceDefinition, with what `kubectl explain` shows, is made of them (crd.h).

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/k8s/tf_job.h"

namespace capstan::jobs::k8s {

enum class FieldKind {
  kText,
  kWhole,       // a whole number within `least` and `most`
  kFlag,        // true or false
  kTime,        // text as in 2026-01-31T12:00:00Z
  kObject,      // has `fields`
  kListOf,      // of objects with `fields`
  kMapOf,       // from any name to objects with `fields`
  kTexts,       // a list of them
  kWholes,      // a list of them
  kTextMap,     // from any name to text
  kQuantities,  // from any name to an amount: 2, "500m", "1Gi"
  kAny,         // whatever Kubernetes makes of it
};

struct Field {
  std::string_view name;
  FieldKind kind;
  std::string_view doc;  // a sentence or two, for people
  std::span<const Field> fields = {};
  std::span<const std::string_view> words = {};  // what a text may be; none: anything
  int64_t least = std::numeric_limits<int32_t>::min();
  int64_t most = std::numeric_limits<int32_t>::max();
  // Kubernetes has more fields here than we name; an unknown one is wrong only if it looks like a
  // slip of one that is named.
  bool open = false;
  bool required = false;
  // A rule for the API server, in its own language, and what it says when that is broken.
  std::string_view rule = {}, rule_text = {};
};

// Of spec and of status.
std::span<const Field> spec_fields();
std::span<const Field> status_fields();
// Of the object itself, metadata among them.
std::span<const Field> object_fields();
// Of a PodTemplateSpec.
std::span<const Field> pod_template_fields();

// Appends what is wrong with names, types, words and bounds in `value`, which `fields` describe.
// `path` is empty for the object itself. Null stands for a field that is not there.
void check_fields(const nlohmann::json& value, std::span<const Field> fields, bool open,
                  const std::string& path, bool strict, std::vector<FieldError>& errors);

}  // namespace capstan::jobs::k8s
