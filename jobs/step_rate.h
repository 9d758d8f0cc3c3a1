#pragma once

// Steps per second over the last few seconds.

#include <cstdint>
#include <deque>
#include <utility>

namespace capstan::jobs {

class StepRate {
 public:
  void add(double time, int64_t step);
  double per_second() const;  // 0: not known yet

 private:
  std::deque<std::pair<double, int64_t>> seen_;
};

}  // namespace capstan::jobs
