// Summaries: serialised Summary messages that an event file takes as they are.

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/histogram.h"
#include "ops/types.h"
#include "proto/event.pb.h"

namespace capstan {
namespace {

void set_summary(KernelContext& c, const pb::Summary& summary) {
  *c.out(0, Shape{}).data<std::string>() = summary.SerializeAsString();
}

double number_at(const Node& node, const Tensor& values, int64_t i) {
  return for_number(node, values.dtype(), [&](auto tag) {
    return double(values.data<typename decltype(tag)::type>()[i]);
  });
}

// --- Scalar
// ----------------------------------------------------------------------------------------------

void scalar_summary(KernelContext& c) {
  const Tensor &tags = c.in(0), &values = c.in(1);
  if (!(tags.shape() == values.shape())) {
    throw invalid_argument("tags and values are not the same shape: {} != {} (tag '{}')",
                           tags.shape(), values.shape(),
                           tags.size() > 0 ? *tags.data<std::string>() : "");
  }
  pb::Summary summary;
  for (int64_t i = 0; i < tags.size(); ++i) {
    pb::Summary::Value* value = summary.add_value();
    value->set_tag(tags.data<std::string>()[i]);
    value->set_simple_value(float(number_at(c.node(), values, i)));
  }
  set_summary(c, summary);
}

constexpr OpDef kScalarSummary = {
    .name = "ScalarSummary",
    .doc = "Each value under its tag.",
    .inputs = {{"tags", "string"}, {"values", "T"}},
    .outputs = {{"summary", "string"}},
    .attrs = {{"T", kNumberTypes}},
    .shape = scalar_shape,
    .kernel = scalar_summary,
    .no_gradient = true,
};

// --- Histogram
// -------------------------------------------------------------------------------------------

void histogram_summary(KernelContext& c) {
  const Tensor& values = c.in(1);
  Histogram histogram;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double value = number_at(c.node(), values, i);
    if (std::isnan(value))
      throw invalid_argument("Nan in summary histogram for: {}", c.node().name());
    if (std::isinf(value)) throw invalid_argument("Infinity in Histogram for: {}", c.node().name());
    histogram.add(value);
  }
  pb::Summary summary;
  pb::Summary::Value* value = summary.add_value();
  value->set_tag(*c.in(0).data<std::string>());
  histogram.write(*value->mutable_histo());
  set_summary(c, summary);
}

constexpr OpDef kHistogramSummary = {
    .name = "HistogramSummary",
    .doc = "How the values are spread, in buckets that grow by a tenth.",
    .inputs = {{"tag", "string"}, {"values", "T"}},
    .outputs = {{"summary", "string"}},
    .attrs = {{"T", kNumberTypes, "float"}},
    .shape = scalar_shape,
    .kernel = histogram_summary,
    .no_gradient = true,
};

// --- Merge
// -----------------------------------------------------------------------------------------------

void merge_summary(KernelContext& c) {
  pb::Summary merged;
  std::set<std::string> tags;
  for (int i = 0; i < c.inputs(); ++i) {
    for (int64_t j = 0; j < c.in(i).size(); ++j) {
      pb::Summary part;
      if (!part.ParseFromString(c.in(i).data<std::string>()[j])) {
        throw invalid_argument("input {} of {} is not a serialised Summary", i, c.node().name());
      }
      for (pb::Summary::Value& value : *part.mutable_value()) {
        if (!tags.insert(value.tag()).second) {
          throw invalid_argument("Duplicate tag {} found in summary inputs", value.tag());
        }
        *merged.add_value() = std::move(value);
      }
    }
  }
  set_summary(c, merged);
}

constexpr OpDef kMergeSummary = {
    .name = "MergeSummary",
    .doc = "All values of the input summaries in one; no tag may stand twice.",
    .inputs = {{"inputs", "N*string"}},
    .outputs = {{"summary", "string"}},
    .attrs = {{"N", "int"}},
    .shape = scalar_shape,
    .kernel = merge_summary,
    .no_gradient = true,
};

constexpr std::array<const OpDef*, 3> kRows = {&kScalarSummary, &kHistogramSummary, &kMergeSummary};

}  // namespace

OpFamily summary_ops() { return kRows; }

}  // namespace capstan
