#include "kernel/task_state.h"

#include <algorithm>

namespace capstan {

std::shared_ptr<Resource> ResourceStore::get(
    std::string_view container, std::string_view name, std::string_view kind,
    const std::function<std::shared_ptr<Resource>()>& make) {
  std::lock_guard lock(mutex_);
  std::pair key{std::string(container), std::string(name)};
  auto found = resources_.find(key);
  if (found == resources_.end()) found = resources_.emplace(std::move(key), make()).first;
  if (found->second->kind() != kind) {
    throw invalid_argument(
        "'{}' exists as a {}, it cannot also be a {}: give one of them another "
        "shared_name",
        name, found->second->kind(), kind);
  }
  return found->second;
}

void ResourceStore::reset(const std::vector<std::string>& containers) {
  std::lock_guard lock(mutex_);
  std::erase_if(resources_, [&](const auto& item) {
    return containers.empty() || std::ranges::count(containers, item.first.first) > 0;
  });
}

TaskState::TaskState(std::string name, int threads, Files& files, Isa isa)
    : name(std::move(name)), pool(threads), files(files), isa(isa) {}

}  // namespace capstan
