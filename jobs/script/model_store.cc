#include "jobs/script/model_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/files.h"

namespace capstan::script {
namespace {

constexpr std::string_view kVersionPrefix = "_model_";

// "12" -> 12; nothing for what is not written as we would write it.
std::optional<int> plain_number(std::string_view text) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::to_string(number) == text ? std::optional(number) : std::nullopt;
}

std::vector<std::string> names_in(const std::string& dir) {
  const auto info = posix_files().stat(dir);
  return info && info->is_dir ? posix_files().list(dir) : std::vector<std::string>();
}

std::optional<ModelVersion> version_at(std::string folder, std::optional<int> number) {
  ModelVersion version{
      .number = number, .folder = std::move(folder), .parts = {}, .meta_folder = {}};
  version.meta_folder = join_path(version.folder, "meta");
  for (const std::string& name : names_in(join_path(version.folder, "model"))) {
    if (auto part = plain_number(name); part && *part >= 0) version.parts.push_back(*part);
  }
  std::ranges::sort(version.parts);
  return version.parts.empty() ? std::nullopt : std::optional(std::move(version));
}

int64_t ended_at(const ModelVersion& version) {
  const auto info = posix_files().stat(version.meta());
  return info ? info->modified_ns : 0;
}

// The one without a number, too, if a training has replaced it since the last number was given.
const ModelVersion& newest_of(const std::vector<ModelVersion>& versions) {
  const ModelVersion &first = versions.front(), &last = versions.back();
  return !first.number && ended_at(first) > ended_at(last) ? first : last;
}

std::string list_of(const std::vector<ModelVersion>& versions) {
  std::vector<std::string> names;
  for (const ModelVersion& version : versions) {
    names.push_back(version.number ? std::to_string(*version.number) : "one without a version");
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<int> version_numbers(const std::string& path) {
  std::vector<int> numbers;
  for (const std::string& name : names_in(path)) {
    if (!name.starts_with(kVersionPrefix)) continue;
    auto number = plain_number(std::string_view(name).substr(kVersionPrefix.size()));
    if (number && *number >= 0) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::string version_folder(const std::string& path, int number) {
  return join_path(path, std::string(kVersionPrefix) + std::to_string(number));
}

std::vector<ModelVersion> model_versions(const std::string& path) {
  std::vector<ModelVersion> versions;
  if (auto plain = version_at(path, std::nullopt)) versions.push_back(*plain);
  for (int number : version_numbers(path)) {
    if (auto one = version_at(version_folder(path, number), number)) versions.push_back(*one);
  }
  return versions;
}

ModelVersion newest_model(const std::string& path, std::optional<int> version) {
  const std::vector<ModelVersion> versions = model_versions(path);
  if (versions.empty()) throw not_found("{}: no trained model; train one there first", path);
  if (!version) return newest_of(versions);
  auto found = std::ranges::find(versions, version, &ModelVersion::number);
  if (found == versions.end()) {
    throw not_found("{}: no model version {}; there is {}", path, *version, list_of(versions));
  }
  return *found;
}

}  // namespace capstan::script
