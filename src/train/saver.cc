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

}  // namespace

Saver::Saver(Graph& graph, std::span<const VariableRef> variables, KeepOptions keep, Files& files)
    : nodes_(make_saver(graph, by_name(variables))), keep_(keep), files_(files) {}

std::string Saver::save(Session& session, const std::string& path, int64_t step) {
  std::string prefix = step < 0 ? path : fmt::format("{}-{}", path, step);
  session.run({{nodes_.filename, Tensor::scalar<std::string>(prefix)}}, {nodes_.save});
  remember(prefix);
  return prefix;
}

void Saver::remember(const std::string& prefix) {
  std::erase_if(kept_, [&](const auto& item) { return item.first == prefix; });
  kept_.emplace_back(prefix, seconds_since_1970());
  std::vector<std::string> old;
  while (keep_.max_to_keep > 0 && int(kept_.size()) > keep_.max_to_keep) {
    old.push_back(kept_.front().first);
    kept_.pop_front();
  }
  CheckpointStateInfo info;
  info.model_checkpoint_path = prefix;
  for (const auto& [path, time] : kept_) {
    info.all_model_checkpoint_paths.push_back(path);
    info.all_model_checkpoint_timestamps.push_back(time);
  }
  // The manifest stops naming an old checkpoint before its files go.
  write_checkpoint_state(files_, dir_of(prefix), info);
  for (const std::string& path : old) remove_bundle(files_, path);
}

void Saver::restore(Session& session, const std::string& prefix) {
  if (!bundle_exists(files_, prefix)) throw not_found("there is no checkpoint at '{}'", prefix);
  session.run({{nodes_.filename, Tensor::scalar<std::string>(prefix)}}, {}, {nodes_.restore});
}

}  // namespace capstan
