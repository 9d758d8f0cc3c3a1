#include "train/step_reporter.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <limits>
#include <string>

namespace capstan {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The earlier of two steps, where 0 is none.
int64_t earlier(int64_t a, int64_t b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

}  // namespace

bool StepReporter::due() const { return now() >= next_time_; }

double StepReporter::next_time() const {
  return channel_->connected() ? next_time_ : std::numeric_limits<double>::infinity();
}

void StepReporter::report(int64_t step, std::optional<double> loss) {
  next_time_ = now() + TaskChannel::kStepInterval;
  loss_ = loss;
  finish(step);
}

void StepReporter::finish(int64_t step) { channel_->step(step, loss_, earlier(end_, limit_)); }

bool is_called_loss(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(std::initializer_list<std::string_view>{"loss", "cost", "entropy"},
                             [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

}  // namespace capstan
