#pragma once

// What the launcher hears of a training, in both languages: the step, the loss, and where it will
// end; and whether the limit that the launcher gave is reached.

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/task_channel.h"

namespace capstan {

// For one thread at a time.
class StepReporter {
 public:
  // limit: the launcher's (--max-steps), or 0.
  explicit StepReporter(std::shared_ptr<TaskChannel> channel, int64_t limit = 0)
      : channel_(std::move(channel)), limit_(limit) {}

  int64_t limit() const { return limit_; }
  bool reached(int64_t step) const { return 0 < limit_ && limit_ <= step; }
  // The step at which the program ends by itself; 0: nobody knows.
  void ends_at(int64_t step) { end_ = step; }

  // Whether it is time for another report: what it costs to find the loss is spared else.
  bool due() const;
  // When that will be, in seconds since the epoch; infinite where nobody listens.
  double next_time() const;
  void report(int64_t step, std::optional<double> loss);
  // The step at which training has ended, with the last loss that is known.
  void finish(int64_t step);

 private:
  const std::shared_ptr<TaskChannel> channel_;
  const int64_t limit_;
  int64_t end_ = 0;
  double next_time_ = 0;
  std::optional<double> loss_;
};

// Whether a program that calls a tensor so means its loss.
bool is_called_loss(std::string_view name);

}  // namespace capstan
