#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jobs/job_view.h"

namespace capstan::jobs {
namespace {

constexpr size_t kLabel = 10;  // columns for the numbers at the left
constexpr size_t kWidest = 72;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // 0 … last
  size_t place(double value, size_t last) const {
    const double part = high > low ? (value - low) / (high - low) : 0;
    return size_t(std::lround(part * double(last)));
  }
};

}  // namespace

std::string loss_curve(const std::vector<CurvePoint>& curve, size_t columns, size_t height) {
  Range steps, losses;
  size_t points = 0;
  for (const CurvePoint& point : curve) {
    if (!point.loss || !std::isfinite(*point.loss)) continue;
    steps.include(double(point.step));
    losses.include(*point.loss);
    ++points;
  }
  if (points < 2 || columns < 2 * kLabel || height < 2) return "";
  const size_t width = std::min(columns, kWidest) - kLabel;
  std::vector<std::string> lines(height, std::string(width, ' '));
  for (const CurvePoint& point : curve) {
    if (!point.loss || !std::isfinite(*point.loss)) continue;
    const size_t row = height - 1 - losses.place(*point.loss, height - 1);
    lines[row][steps.place(double(point.step), width - 1)] = '*';
  }
  std::string out;
  for (size_t i = 0; i < height; ++i) {
    const bool ends = i == 0 || i == height - 1;
    const std::string label = ends ? fmt::format("{:.3g}", i == 0 ? losses.high : losses.low) : "";
    out += fmt::format("{:>8} |{}\n", label, lines[i]);
  }
  const std::string last = fmt::format("step {:.0f}", steps.high);
  const std::string first = fmt::format("{:.0f}", steps.low);
  const size_t gap = width > last.size() ? width - last.size() : 0;
  out += std::string(kLabel - 1, ' ') + "+" + std::string(width, '-') + "\n";
  return out + fmt::format("{:>8}  {:<{}}{}\n", "loss", first, gap, last);
}

}  // namespace capstan::jobs
