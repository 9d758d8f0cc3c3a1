#include "train/saver.h"

#include <chrono>

#include "io/bundle.h"
#include "io/checkpoint_state.h"

namespace capstan {
namespace {

std::map<std::string, VariableRef> by_name(std::span<const VariableRef> variables) {
  std::map<std::string, VariableRef> out;
  for (const VariableRef& v : variables) out.emplace(v.name(), v);
  return out;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr double kSecondsPerHour = 3600;

}  // namespace

Retention::Retention(KeepOptions keep, double now)
    : keep_(keep), next_for_good_(now + keep.keep_every_n_hours * kSecondsPerHour) {}

std::string Retention::written(Files& files, const std::string& prefix, double now,
                               bool relative_paths, const std::string& filename) {
  if (keep_.max_to_keep > 0) {
    std::erase_if(kept_, [&](const KeptCheckpoint& kept) { return kept.prefix == prefix; });
    kept_.push_back({prefix, now});
    if (int(kept_.size()) > keep_.max_to_keep) {
      too_old_.push_back(kept_.front());
      kept_.pop_front();
    }
  }
  CheckpointStateInfo info;
  info.model_checkpoint_path = prefix;
  for (const KeptCheckpoint& kept : kept_) info.all_model_checkpoint_paths.push_back(kept.prefix);
  write_checkpoint_state(files, dir_of(prefix), std::move(info), relative_paths, filename);
  return remove_oldest(files);
}

std::string Retention::remove_oldest(Files& files) {
  if (too_old_.empty()) return {};
  KeptCheckpoint oldest = std::move(too_old_.front());
  too_old_.pop_front();
  if (oldest.written > next_for_good_) {
    next_for_good_ += keep_.keep_every_n_hours * kSecondsPerHour;
    return {};
  }
  try {
    remove_bundle(files, oldest.prefix);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

Saver::Saver(Graph& graph, std::span<const VariableRef> variables, KeepOptions keep, Files& files)
    : nodes_(make_saver(graph, by_name(variables))),
      files_(files),
      retention_(keep, seconds_since_1970()) {}

std::string Saver::save(Session& session, const std::string& path, int64_t step) {
  std::string prefix = step < 0 ? path : fmt::format("{}-{}", path, step);
  session.run({{nodes_.filename, Tensor::scalar<std::string>(prefix)}}, {nodes_.save});
  retention_.written(files_, prefix, seconds_since_1970());
  return prefix;
}

void Saver::restore(Session& session, const std::string& prefix) {
  if (!bundle_exists(files_, prefix)) throw not_found("there is no checkpoint at '{}'", prefix);
  session.run({{nodes_.filename, Tensor::scalar<std::string>(prefix)}}, {}, {nodes_.restore});
}

}  // namespace capstan
