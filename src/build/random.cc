#include "build/random.h"

#include <algorithm>
#include <cmath>

#include "build/composites.h"
#include "build/operators.h"

namespace capstan {
namespace {

AttrMap seeded(Graph& g, Seed seed) {
  auto [first, second] = g.random_seeds(seed);
  return {{"seed", first}, {"seed2", second}};
}

Output draw(std::string_view op, Output shape, DType dtype, Seed seed) {
  AttrMap attrs = seeded(shape.graph(), seed);
  attrs.set("dtype", dtype);
  return shape.graph().add(op, {shape}, std::move(attrs));
}

Output scaled(std::string_view op, Output shape, Output mean, Output stddev, DType dtype, Seed seed,
              std::string_view name) {
  Composite made(shape.graph(), name);
  Output raw = draw(op, shape, dtype, seed);
  return binary("AddV2", raw * stddev, mean, made.self);
}

using Normal = Output (*)(Output, Output, Output, DType, Seed, std::string_view);

Output normal_of(Normal make, std::string_view name, Graph& g, const Shape& shape, DType dtype,
                 double stddev, double mean, Seed seed) {
  Composite made(g, name);
  Output dims = g.constant(int_vector(shape.dims()), "shape");
  Output mu = g.constant(scalar_of(dtype, mean), "mean");
  Output sigma = g.constant(scalar_of(dtype, stddev), "stddev");
  return make(dims, mu, sigma, dtype, seed, made.self);
}

Output uniform_of(Graph& g, const Shape& shape, DType dtype, double low, double high, Seed seed) {
  Composite made(g, "random_uniform");
  Output dims = g.constant(int_vector(shape.dims()), "shape");
  Output min = g.constant(scalar_of(dtype, low), "min");
  Output max = g.constant(scalar_of(dtype, high), "max");
  return random_uniform(dims, min, max, dtype, seed, made.self);
}

constexpr Normal kNormal = random_normal, kTruncated = truncated_normal;

// Inputs and outputs of a layer with weights of this shape.
std::pair<double, double> fans(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return {1, 1};
  if (rank == 1) return {double(shape[0]), double(shape[0])};
  double field = 1;
  for (int i = 0; i < rank - 2; ++i) field *= double(shape[i]);
  return {double(shape[rank - 2]) * field, double(shape[rank - 1]) * field};
}

double count_of(const std::string& mode, const Shape& shape) {
  auto [in, out] = fans(shape);
  if (mode == "fan_in") return in;
  if (mode == "fan_out") return out;
  if (mode == "fan_avg") return (in + out) / 2;
  throw invalid_argument("the mode '{}' is none of fan_in, fan_out, fan_avg", mode);
}

}  // namespace

Output random_normal(Output shape, Output mean, Output stddev, DType dtype, Seed seed,
                     std::string_view name) {
  return scaled("RandomStandardNormal", shape, mean, stddev, dtype, seed, name);
}

Output truncated_normal(Output shape, Output mean, Output stddev, DType dtype, Seed seed,
                        std::string_view name) {
  return scaled("TruncatedNormal", shape, mean, stddev, dtype, seed, name);
}

Output random_uniform(Output shape, Output low, Output high, DType dtype, Seed seed,
                      std::string_view name) {
  Graph& g = shape.graph();
  Composite made(g, name);
  if (is_integer(dtype)) {
    if (!low || !high)
      throw invalid_argument("random_uniform of {} needs limits", dtype_name(dtype));
    return g.add("RandomUniformInt", {shape, low, high}, seeded(g, seed), made.self);
  }
  Output raw = draw("RandomUniform", shape, dtype, seed);
  if (low && high) return binary("AddV2", raw * (high - low), low, made.self);
  if (low) return binary("AddV2", raw * (1.0 - low), low, made.self);
  return high ? binary("Mul", raw, high) : raw;
}

Output random_normal(Graph& graph, const Shape& shape, double stddev, double mean) {
  return normal_of(kNormal, "random_normal", graph, shape, DType::kFloat, stddev, mean, {});
}

Output truncated_normal(Graph& graph, const Shape& shape, double stddev, double mean) {
  return normal_of(kTruncated, "truncated_normal", graph, shape, DType::kFloat, stddev, mean, {});
}

Output random_uniform(Graph& graph, const Shape& shape, double low, double high) {
  return uniform_of(graph, shape, DType::kFloat, low, high, {});
}

Output variance_scaling(Graph& graph, const Shape& shape, DType dtype, const VarianceScaling& how,
                        Seed seed, const Shape* whole) {
  const double scale = how.scale / std::max(1.0, count_of(how.mode, whole ? *whole : shape));
  if (how.distribution == "uniform") {
    const double limit = std::sqrt(3 * scale);
    return uniform_of(graph, shape, dtype, -limit, limit, seed);
  }
  if (how.distribution == "untruncated_normal") {
    return normal_of(kNormal, "random_normal", graph, shape, dtype, std::sqrt(scale), 0, seed);
  }
  if (how.distribution != "normal" && how.distribution != "truncated_normal") {
    throw invalid_argument(
        "the distribution '{}' is none of normal, truncated_normal, "
        "untruncated_normal, uniform",
        how.distribution);
  }
  // Cut at two deviations, a normal keeps this much of its own.
  constexpr double kKept = 0.87962566103423978;
  return normal_of(kTruncated, "truncated_normal", graph, shape, dtype, std::sqrt(scale) / kKept, 0,
                   seed);
}

Output glorot_uniform(Graph& graph, const Shape& shape, Seed seed) {
  return variance_scaling(graph, shape, DType::kFloat, {1, "fan_avg", "uniform"}, seed);
}

Output glorot_normal(Graph& graph, const Shape& shape, Seed seed) {
  return variance_scaling(graph, shape, DType::kFloat, {1, "fan_avg", "truncated_normal"}, seed);
}

namespace {

using Uniform = Output (*)(Output, Output, Output, DType, Seed, std::string_view);

Output part_of_layer(Graph& graph, const Shape& shape, DType dtype, double scale,
                     std::string_view mode, std::string_view distribution, Seed seed,
                     const Shape& whole) {
  VarianceScaling how{scale, std::string(mode), std::string(distribution)};
  return variance_scaling(graph, shape, dtype, how, seed, &whole);
}

constexpr CompositeDef kRows[] = {
    {.name = "random_normal",
     .python = "random_normal random.normal (shape: sizes, mean: as dtype=0.0, "
               "stddev: as dtype=1.0, dtype=float32, seed=None, name=None)",
     .doc = "mean + stddev * a standard normal.",
     .scope = "random_normal",
     .order = "dtype shape mean stddev",
     .build = builder<kNormal>},
    {.name = "truncated_normal",
     .python = "truncated_normal random.truncated_normal (shape: sizes, mean: as dtype=0.0, "
               "stddev: as dtype=1.0, dtype=float32, seed=None, name=None)",
     .doc = "mean + stddev * a standard normal, within two deviations of the mean.",
     .scope = "truncated_normal",
     .order = "dtype shape mean stddev",
     .build = builder<kTruncated>},
    {.name = "random_uniform", .build = builder<static_cast<Uniform>(random_uniform)>},
    {.name = "variance_scaling", .build = builder<part_of_layer>},
};

}  // namespace

CompositeFamily random_composites() { return kRows; }

}  // namespace capstan
