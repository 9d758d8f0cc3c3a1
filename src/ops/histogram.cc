#include "ops/histogram.h"

#include <algorithm>

namespace capstan {
namespace {

// Limits of the positive side; multiplied step by step, as TensorFlow rounds.
std::vector<double> positive_limits() {
  std::vector<double> limits;
  for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) limits.push_back(limit);
  limits.push_back(DBL_MAX);
  return limits;
}

std::vector<double> make_limits() {
  const std::vector<double> positive = positive_limits();
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0.0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

const std::vector<double>& shared_limits() {
  // Never destroyed: threads may be at work while the process ends.
  static const auto& limits = *new std::vector<double>(make_limits());
  return limits;
}

}  // namespace

Histogram::Histogram() : limits_(shared_limits()), counts_(limits_.size()) {}

void Histogram::add(double value) {
  const auto bucket = std::upper_bound(limits_.begin(), limits_.end() - 1, value) - limits_.begin();
  counts_[size_t(bucket)] += 1;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  num_ += 1;
  sum_ += value;
  sum_squares_ += value * value;
}

void Histogram::write(pb::HistogramProto& proto) const {
  proto.set_min(min_);
  proto.set_max(max_);
  proto.set_num(num_);
  proto.set_sum(sum_);
  proto.set_sum_squares(sum_squares_);
  for (size_t i = 0; i < counts_.size();) {
    size_t last = i;
    while (counts_[i] == 0 && last + 1 < counts_.size() && counts_[last + 1] == 0) ++last;
    proto.add_bucket_limit(limits_[last]);
    proto.add_bucket(counts_[last]);
    i = last + 1;
  }
}

}  // namespace capstan
