#include "cluster/membership.h"

#include <fmt/format.h>

#include <algorithm>

namespace capstan {

bool takes_part_in_training(const std::string& job) { return job != "ps" && job != "evaluator"; }

Membership::Membership(const ClusterSpec& cluster) {
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, address] : tasks) {
      const std::string name = fmt::format("/job:{}/task:{}", job, index);
      tasks_.insert(name);
      if (takes_part_in_training(job)) trainers_.insert(name);
    }
  }
}

void Membership::note_working(const std::string& task, uint64_t incarnation) {
  std::lock_guard lock(mutex_);
  auto it = said_.find(task);
  // A task that only serves works too, for clients.
  if (it != said_.end() && it->second.incarnation != incarnation) said_.erase(it);
}

void Membership::note(const std::string& task, uint64_t incarnation, Standing standing) {
  std::lock_guard lock(mutex_);
  if (!tasks_.contains(task)) return;
  said_[task] = {standing, incarnation};
  changed_.notify_all();
}

void Membership::hear(const std::string& task, uint64_t incarnation, Standing standing) {
  std::lock_guard lock(mutex_);
  if (tasks_.contains(task) && said_.try_emplace(task, Said{standing, incarnation}).second)
    changed_.notify_all();
}

std::map<std::string, Membership::Said> Membership::all_said() const {
  std::lock_guard lock(mutex_);
  return said_;
}

Standing Membership::said_by(const std::string& task) const {
  auto it = said_.find(task);
  return it == said_.end() ? Standing() : it->second.standing;
}

Standing Membership::of(const std::string& task) const {
  std::lock_guard lock(mutex_);
  return said_by(task);
}

bool Membership::over() const {
  auto left = [&](const std::string& task) { return said_by(task).left; };
  auto trains = [&](const std::string& task) { return said_by(task) == Standing(); };
  return std::ranges::any_of(trainers_, left) && std::ranges::none_of(trainers_, trains);
}

bool Membership::training_is_over() const {
  std::lock_guard lock(mutex_);
  return over();
}

void Membership::wait_until_over() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || over(); });
}

void Membership::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace capstan
