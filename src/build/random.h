#pragma once

// Random tensors and initial values; normal ones of any shape and type are in build/composites.h.
// Seeds are TensorFlow's pair of a graph seed and an op seed.

#include <string>

#include "build/composite.h"

namespace capstan {

// Within [low, high). Without low: from 0; without high: up to 1. Whole numbers need both.
Output random_uniform(Output shape, Output low, Output high, DType dtype, Seed seed = {},
                      std::string_view name = "random_uniform");

// Of floats, for formulas.
Output random_normal(Graph& graph, const Shape& shape, double stddev = 1, double mean = 0);
Output truncated_normal(Graph& graph, const Shape& shape, double stddev = 1, double mean = 0);
Output random_uniform(Graph& graph, const Shape& shape, double low, double high);

// Numbers whose variance is scale / n, where n counts a layer's inputs, outputs, or their mean.
struct VarianceScaling {
  double scale = 1;
  std::string mode = "fan_in";                    // fan_in, fan_out, fan_avg
  std::string distribution = "truncated_normal";  // also normal, untruncated_normal, uniform
};
// `whole` is the shape of the layer's weights, of which `shape` may be a part.
Output variance_scaling(Graph& graph, const Shape& shape, DType dtype, const VarianceScaling& how,
                        Seed seed = {}, const Shape* whole = nullptr);
Output glorot_uniform(Graph& graph, const Shape& shape, Seed seed = {});
Output glorot_normal(Graph& graph, const Shape& shape, Seed seed = {});

}  // namespace capstan
