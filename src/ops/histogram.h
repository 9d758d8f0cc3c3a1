#pragma once

// Counts of values in TensorFlow's buckets: limits that grow by a tenth from 1e-12 to 1e20, on both
// sides of zero.

#include <cfloat>
#include <vector>

#include "proto/event.pb.h"

namespace capstan {

class Histogram {
 public:
  Histogram();

  void add(double value);
  // Runs of empty buckets are written as one.
  void write(pb::HistogramProto& proto) const;

 private:
  const std::vector<double>& limits_;
  std::vector<double> counts_;
  double min_ = DBL_MAX, max_ = -DBL_MAX, num_ = 0, sum_ = 0, sum_squares_ = 0;
};

}  // namespace capstan
