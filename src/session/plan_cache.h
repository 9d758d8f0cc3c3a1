#pragma once

// The plans of a session, by what is fed and fetched.

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "session/executable.h"

namespace capstan {

struct PlanKey {
  std::vector<std::pair<const Node*, int>> items;  // feeds, a mark, fetches, a mark, targets
  bool operator==(const PlanKey&) const = default;
};

PlanKey plan_key(std::span<const Output> feeds, std::span<const Output> fetches,
                 std::span<Node* const> targets);

// Thread-safe. Beyond its limit the plan that was not used for longest goes.
class PlanCache {
 public:
  std::shared_ptr<Executable> find(const PlanKey& key);
  // Another thread's plan of the same key wins.
  std::shared_ptr<Executable> keep(PlanKey key, std::shared_ptr<Executable> executable);

 private:
  struct Hash {
    size_t operator()(const PlanKey& key) const;
  };
  struct Kept {
    std::shared_ptr<Executable> executable;
    uint64_t used;  // when it was last asked for, in uses_
  };
  std::mutex mutex_;  // guards the rest
  std::unordered_map<PlanKey, Kept, Hash> plans_;
  uint64_t uses_ = 0;
};

}  // namespace capstan
