#include "session/plan_cache.h"

#include <algorithm>

namespace capstan {
namespace {

constexpr size_t kMaxPlans = 256;

}  // namespace

PlanKey plan_key(std::span<const Output> feeds, std::span<const Output> fetches,
                 std::span<Node* const> targets) {
  PlanKey key;
  key.items.reserve(feeds.size() + fetches.size() + targets.size() + 2);
  for (const Output& o : feeds) key.items.emplace_back(o.node, o.index);
  key.items.emplace_back(nullptr, 0);
  for (const Output& o : fetches) key.items.emplace_back(o.node, o.index);
  key.items.emplace_back(nullptr, 1);
  for (const Node* n : targets) key.items.emplace_back(n, 0);
  return key;
}

size_t PlanCache::Hash::operator()(const PlanKey& key) const {
  size_t h = key.items.size();
  for (auto& [node, index] : key.items) {
    h ^=
        (reinterpret_cast<size_t>(node) + size_t(index) * 0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
  }
  return h;
}

std::shared_ptr<Executable> PlanCache::find(const PlanKey& key) {
  std::lock_guard lock(mutex_);
  auto it = plans_.find(key);
  if (it == plans_.end()) return nullptr;
  it->second.used = ++uses_;
  return it->second.executable;
}

std::shared_ptr<Executable> PlanCache::keep(PlanKey key, std::shared_ptr<Executable> executable) {
  std::lock_guard lock(mutex_);
  if (plans_.size() >= kMaxPlans) {
    plans_.erase(std::ranges::min_element(plans_, {}, [](auto& p) { return p.second.used; }));
  }
  return plans_.emplace(std::move(key), Kept{std::move(executable), ++uses_})
      .first->second.executable;
}

}  // namespace capstan
