// Summaries: serialised Summary messages that an event file takes as they are.

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "graph/shape_context.h"
#include "io/png.h"
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

// --- Scalar --------------------------------------------------------------------------------------

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

// --- Histogram -----------------------------------------------------------------------------------

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
  value->set_tag(c.scalar<std::string>(0));
  histogram.write(*value->mutable_histo());
  set_summary(c, summary);
}

constexpr OpDef kHistogramSummary = {
    .name = "HistogramSummary",
    .doc = "How the values are spread, in buckets that grow by a tenth.",
    .inputs = {{"tag", "string", 0}, {"values", "T"}},
    .outputs = {{"summary", "string"}},
    .attrs = {{"T", kNumberTypes, "float"}},
    .shape = scalar_shape,
    .kernel = histogram_summary,
    .no_gradient = true,
};

// --- Image ---------------------------------------------------------------------------------------

struct ImageState {
  int64_t most;
  std::array<uint8_t, 4> bad_colour;
};

std::shared_ptr<void> prepare_image(const Node& node) {
  ImageState state{node.attrs().get<int64_t>("max_images"), {255, 0, 0, 255}};
  if (auto* colour = node.attrs().find("bad_color")) {
    const Tensor& given = std::get<Tensor>(*colour);
    for (int64_t i = 0; i < std::min<int64_t>(4, given.size()); ++i)
      state.bad_colour[size_t(i)] = given.data<uint8_t>()[i];
  }
  return std::make_shared<ImageState>(state);
}

// Numbers as bytes: the largest becomes 255; with negative ones 0 becomes 127. Pixels with a number
// that is none take the bad colour.
std::vector<uint8_t> shades(const float* in, int64_t pixels, int64_t channels,
                            const std::array<uint8_t, 4>& bad) {
  float least = 0, most = 0;
  for (int64_t i = 0; i < pixels * channels; ++i) {
    if (!std::isfinite(in[i])) continue;
    least = std::min(least, in[i]);
    most = std::max(most, in[i]);
  }
  const float largest = std::max(std::abs(least), std::abs(most));
  const float scale = largest >= 1e-6f ? (least < 0 ? 127.0f : 255.0f) / largest : 0;
  const float offset = least < 0 ? 128.0f : 0.0f;
  std::vector<uint8_t> out(size_t(pixels * channels));
  for (int64_t p = 0; p < pixels; ++p) {
    const float* pixel = in + p * channels;
    const bool good =
        std::all_of(pixel, pixel + channels, [](float x) { return std::isfinite(x); });
    for (int64_t k = 0; k < channels; ++k) {
      out[size_t(p * channels + k)] =
          good ? uint8_t(pixel[k] * scale + offset) : bad[size_t(std::min<int64_t>(k, 3))];
    }
  }
  return out;
}

void image_summary(KernelContext& c) {
  const auto& state = c.state<ImageState>();
  const Tensor& images = c.in(1);
  if (images.shape().rank() != 4) {
    throw invalid_argument("images have the dimensions batch, height, width and channels, not {}",
                           images.shape());
  }
  const int64_t height = images.shape()[1], width = images.shape()[2];
  const int64_t channels = images.shape()[3], bytes = height * width * channels;
  const int64_t count = std::min(state.most, images.shape()[0]);
  pb::Summary summary;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<uint8_t> pixels;
    if (images.dtype() == DType::kUInt8) {
      const uint8_t* first = images.data<uint8_t>() + i * bytes;
      pixels.assign(first, first + bytes);
    } else {
      pixels = shades(images.data<float>() + i * bytes, height * width, channels, state.bad_colour);
    }
    pb::Summary::Value* value = summary.add_value();
    const auto& tag = c.scalar<std::string>(0);
    value->set_tag(state.most > 1 ? fmt::format("{}/image/{}", tag, i) : tag + "/image");
    value->mutable_image()->set_height(int32_t(height));
    value->mutable_image()->set_width(int32_t(width));
    value->mutable_image()->set_colorspace(int32_t(channels));
    value->mutable_image()->set_encoded_image_string(encode_png(pixels, height, width, channels));
  }
  set_summary(c, summary);
}

constexpr OpDef kImageSummary = {
    .name = "ImageSummary",
    .doc = "The first images of a batch, as pictures.",
    .inputs = {{"tag", "string", 0}, {"tensor", "T"}},
    .outputs = {{"summary", "string"}},
    .attrs = {{"max_images", "int>=1", "3"}, {"T", "type:float|uint8", "float"}},
    .shape = scalar_shape,
    .kernel = image_summary,
    .prepare = prepare_image,
    .no_gradient = true,
};

// --- Merge ---------------------------------------------------------------------------------------

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
    .attrs = {{"N", "int>=1"}},
    .shape = scalar_shape,
    .kernel = merge_summary,
    .no_gradient = true,
};

constexpr std::array<const OpDef*, 4> kRows = {&kScalarSummary, &kHistogramSummary, &kImageSummary,
                                               &kMergeSummary};

}  // namespace

OpFamily summary_ops() { return kRows; }

}  // namespace capstan
