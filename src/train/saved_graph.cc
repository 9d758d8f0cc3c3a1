#include "train/saved_graph.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "graph/proto_convert.h"
#include "io/bundle.h"
#include "io/checkpoint_folder.h"

namespace capstan {
namespace {

constexpr const char* kSavedModelName = "saved_model.pb";
constexpr int kDeepest = 3;

std::string tags_of(const pb::MetaGraphDef& meta) {
  std::string text;
  for (const std::string& tag : meta.meta_info_def().tags())
    text += fmt::format("{}{}", text.empty() ? "" : ",", tag);
  return text.empty() ? "(none)" : text;
}

bool has_tag(const pb::MetaGraphDef& meta, const std::string& tag) {
  const auto& tags = meta.meta_info_def().tags();
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

// Exporters name folders by a number that grows: longer is greater, then the letters decide.
bool older(const std::string& a, const std::string& b) {
  const std::string x = name_of(a), y = name_of(b);
  return std::tuple(x.size(), x, a) < std::tuple(y.size(), y, b);
}

bool is_folder(Files& files, const std::string& path) {
  const std::optional<FileInfo> info = files.stat(path);
  return info && info->is_dir;
}

std::optional<std::string> find_saved_model(Files& files, const std::string& folder, int depth) {
  if (files.exists(join_path(folder, kSavedModelName))) return folder;
  if (depth == 0 || !is_folder(files, folder)) return std::nullopt;
  std::optional<std::string> newest;
  for (const std::string& name : files.list(folder)) {
    const std::string below = join_path(folder, name);
    if (name.starts_with('.') || !is_folder(files, below)) continue;
    auto found = find_saved_model(files, below, depth - 1);
    if (found && (!newest || older(*newest, *found))) newest = std::move(found);
  }
  return newest;
}

SavedGraph read_saved_model(Files& files, const std::string& folder, const std::string& tag) {
  SavedGraph graph;
  graph.title = fmt::format("the SavedModel {}", folder);
  graph.meta = parse_saved_model(files.read(join_path(folder, kSavedModelName)), tag, graph.title);
  graph.bundle = join_path(folder, "variables/variables");
  graph.is_saved_model = true;
  return graph;
}

// A folder that was moved since, as published models are, still names its old place.
std::optional<std::string> named_checkpoint(Files& files, const std::string& folder) {
  try {
    const auto state = read_checkpoint_state(files, folder);
    if (!state || state->model_checkpoint_path.empty()) return std::nullopt;
    std::string here = join_path(folder, name_of(state->model_checkpoint_path));
    if (!bundle_exists(files, here)) return std::nullopt;
    BundleReader(files, here).check_whole();
    return here;
  } catch (const Error& error) {
    if (error.code() != Code::kDataLoss && error.code() != Code::kNotFound) throw;
    return std::nullopt;
  }
}

CheckpointFolder newest_checkpoint(Files& files, const std::string& folder) {
  if (auto here = named_checkpoint(files, folder)) {
    CheckpointFolder found;
    found.state = CheckpointStateInfo{*here, {*here}, {}, 0};
    return found;
  }
  CheckpointFolder found = look_into_checkpoint_folder(files, folder);
  // Whoever may name a folder has not been allowed what a file in it names.
  const std::string inside = folder.ends_with('/') ? folder : folder + "/";
  if (found.state && !found.state->model_checkpoint_path.starts_with(inside)) {
    throw not_found("{} names the checkpoint {}, which is not in its folder",
                    join_path(folder, kCheckpointStateName), found.state->model_checkpoint_path);
  }
  return found;
}

SavedGraph read_checkpoint_graph(Files& files, const CheckpointFolder& found) {
  SavedGraph graph;
  graph.bundle = found.state->model_checkpoint_path;
  graph.warning = found.warning;
  graph.title = fmt::format("the checkpoint {}", graph.bundle);
  const std::string path = graph.bundle + ".meta";
  if (!files.exists(path)) {
    throw not_found(
        "there is no graph beside {}: {} is missing; save with write_meta_graph=True, "
        "or export a SavedModel",
        graph.title, path);
  }
  if (!parse_quietly(files.read(path), graph.meta)) {
    throw data_loss("{} is not a MetaGraphDef: it is damaged, or was not copied whole", path);
  }
  return graph;
}

}  // namespace

pb::MetaGraphDef parse_saved_model(std::string_view bytes, const std::string& tag,
                                   const std::string& title) {
  pb::SavedModel model;
  if (!parse_quietly(bytes, model) || model.meta_graphs_size() == 0) {
    throw data_loss("{} of {} is damaged, or was not copied whole", kSavedModelName, title);
  }
  std::string others;
  for (pb::MetaGraphDef& meta : *model.mutable_meta_graphs()) {
    if (has_tag(meta, tag)) return std::move(meta);
    others += fmt::format("{}{}", others.empty() ? "" : "; ", tags_of(meta));
  }
  throw not_found("{} has no graph with the tag '{}'; its graphs have {}", title, tag, others);
}

SavedGraph read_saved_graph(Files& files, const std::string& folder, const std::string& tag) {
  if (auto found = find_saved_model(files, folder, kDeepest))
    return read_saved_model(files, *found, tag);
  const CheckpointFolder found = newest_checkpoint(files, folder);
  if (found.state) return read_checkpoint_graph(files, found);
  throw not_found(
      "{} holds neither a SavedModel ({}) nor a checkpoint; the training program has to "
      "save one there",
      folder, kSavedModelName);
}

}  // namespace capstan
