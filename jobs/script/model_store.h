#pragma once

// Trained models below one path: `<path>/_model_0`, `_model_1`, …, each with `model/<chief>` (what
// the chief wrote) and `meta/` (model.json, training_info.json: docs/formats/trained-model.md); or,
// kept without versions, `<path>/model/<chief>` and `<path>/meta`. What is there is whole: names
// that begin with a dot belong to runs that have not ended.

#include <optional>
#include <string>
#include <vector>

namespace capstan::script {

struct ModelVersion {
  std::optional<int> number;  // none: kept without versions
  std::string folder;         // "<path>/_model_3", or <path>
  std::vector<int> parts;     // the indices below model/, ascending: of DTF the chief's alone
  std::string meta_folder;    // may be absent: models of other makers have none

  std::string model(int part) const { return folder + "/model/" + std::to_string(part); }
  std::string model() const { return model(parts.front()); }
  std::string meta() const { return meta_folder + "/model.json"; }
  std::string training_info() const { return meta_folder + "/training_info.json"; }
};

// Oldest first, the one without a number before all. Those without a model are left out. Nothing
// there, no model. `path` was allowed (jobs/script/paths.h).
std::vector<ModelVersion> model_versions(const std::string& path);

// The newest, or the one asked for. Throws NotFound, with the versions that there are.
ModelVersion newest_model(const std::string& path, std::optional<int> version = std::nullopt);

// The numbers of all versions, those without a model too; ascending.
std::vector<int> version_numbers(const std::string& path);
std::string version_folder(const std::string& path, int number);

}  // namespace capstan::script
