#pragma once

// Steps per second over the last few seconds.

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "jobs/job_spec.h"

namespace capstan::jobs {

// Of one task. A step back is a restore: what was before it counts no more.
class StepRate {
 public:
  void add(double time, int64_t step);
  // 0: not known yet, or nothing has come for longer than it used to take.
  double per_second(double now) const;

 private:
  std::deque<std::pair<double, int64_t>> seen_;
};

// Of the tasks of a job, which may count the same steps or each its own: the job is as fast as the
// fastest.
class StepRates {
 public:
  void add(const TaskId& task, double time, int64_t step) { rates_[task].add(time, step); }
  double of(const TaskId& task, double now) const;
  double fastest(double now) const;

 private:
  std::map<TaskId, StepRate> rates_;
};

}  // namespace capstan::jobs
