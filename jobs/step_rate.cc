#include "jobs/step_rate.h"

namespace capstan::jobs {
namespace {

constexpr double kRateWindow = 5;  // seconds

}  // namespace

void StepRate::add(double time, int64_t step) {
  if (!seen_.empty() && step < seen_.back().second) return;  // another task is behind
  seen_.emplace_back(time, step);
  while (seen_.size() > 2 && time - seen_.front().first > kRateWindow) seen_.pop_front();
}

double StepRate::per_second() const {
  if (seen_.size() < 2) return 0;
  double time = seen_.back().first - seen_.front().first;
  return time > 0 ? static_cast<double>(seen_.back().second - seen_.front().second) / time : 0;
}

}  // namespace capstan::jobs
