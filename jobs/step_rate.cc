#include "jobs/step_rate.h"

#include <algorithm>

namespace capstan::jobs {
namespace {

constexpr double kRateWindow = 5;      // seconds
constexpr double kLongestSilence = 3;  // in times of what a report used to take

}  // namespace

void StepRate::add(double time, int64_t step) {
  if (!seen_.empty() && step < seen_.back().second) seen_.clear();
  seen_.emplace_back(time, step);
  while (seen_.size() > 2 && time - seen_.front().first > kRateWindow) seen_.pop_front();
}

double StepRate::per_second(double now) const {
  if (seen_.size() < 2) return 0;
  const auto& [first, from] = seen_.front();
  const auto& [last, to] = seen_.back();
  const double usual = (last - first) / double(seen_.size() - 1);
  if (now - last > std::max(kRateWindow, kLongestSilence * usual)) return 0;
  return last > first ? double(to - from) / (last - first) : 0;
}

double StepRates::of(const TaskId& task, double now) const {
  auto found = rates_.find(task);
  return found == rates_.end() ? 0 : found->second.per_second(now);
}

double StepRates::fastest(double now) const {
  double fastest = 0;
  for (const auto& [task, rate] : rates_) fastest = std::max(fastest, rate.per_second(now));
  return fastest;
}

}  // namespace capstan::jobs
