// Random values. With equal seeds they are TensorFlow's, run after run: a node's stream goes on
// where its last run in the session ended. Without seeds they come from the system's entropy.

#include <array>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/philox.h"
#include "ops/families.h"
#include "ops/types.h"
#include "ops/window.h"

namespace capstan {
namespace {

// The node's stream at the place where this run's `blocks` begin.
Philox stream_for(KernelContext& c, uint64_t blocks) {
  const auto seed = uint64_t(c.node().attrs().get<int64_t>("seed"));
  const auto seed2 = uint64_t(c.node().attrs().get<int64_t>("seed2"));
  if (seed == 0 && seed2 == 0) {
    SystemRandom random;
    const uint64_t first = random.u64();
    return Philox(first, random.u64());
  }
  Philox stream(seed, seed2);
  std::lock_guard lock(c.session().mutex);
  uint64_t& used = c.session().random_counters[c.node().name()];
  stream.skip(used);
  used += blocks;
  return stream;
}

void shape_from_input(ShapeContext& c) { c.out(0, c.in_as_shape(0).value_or(Shape::unknown())); }

using Fill = void (*)(const Philox&, Tensor&, ThreadPool&);

template <Fill fill>
void random_kernel(KernelContext& c) {
  Tensor& out = c.out(0, shape_from(c.in(0)));
  fill(stream_for(c, reserved_blocks(out.size())), out, c.pool());
}

constexpr OpDef random_row(std::string_view name, std::string_view doc,
                           void (*kernel)(KernelContext&)) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"shape", "T", 1}},
          .outputs = {{"output", "dtype"}},
          .attrs = {{"seed", "int", "0"},
                    {"seed2", "int", "0"},
                    {"dtype", kRealTypes},
                    {"T", kIndexTypes}},
          .shape = shape_from_input,
          .kernel = kernel,
          .no_gradient = true,
          .stateful = true,
          .samples = {"int32[2]{2,3} seed=3 seed2=7 dtype=float"}};
}

constexpr OpDef kRandomUniform =
    random_row("RandomUniform", "Uniform values in [0, 1).", random_kernel<fill_uniform>);
constexpr OpDef kRandomStandardNormal = random_row(
    "RandomStandardNormal", "Normal values of mean 0 and deviation 1.", random_kernel<fill_normal>);
constexpr OpDef kTruncatedNormal =
    random_row("TruncatedNormal", "Normal values, drawn again while outside two deviations.",
               random_kernel<fill_truncated_normal>);

void random_uniform_int(KernelContext& c) {
  const int64_t low = int_at(c.in(1), 0), high = int_at(c.in(2), 0);
  Tensor& out = c.out(0, shape_from(c.in(0)));
  if (out.size() == 0) return;
  if (low >= high) throw invalid_argument("Need minval < maxval, got {} >= {}", low, high);
  fill_uniform_int(stream_for(c, reserved_blocks(out.size())), low, high, out, c.pool());
}

constexpr OpDef kRandomUniformInt = {
    .name = "RandomUniformInt",
    .doc = "Uniform whole numbers in [minval, maxval).",
    .inputs = {{"shape", "T", 1}, {"minval", "Tout", 0}, {"maxval", "Tout", 0}},
    .outputs = {{"output", "Tout"}},
    .attrs = {{"seed", "int", "0"},
              {"seed2", "int", "0"},
              {"Tout", kIndexTypes},
              {"T", kIndexTypes}},
    .shape = shape_from_input,
    .kernel = random_uniform_int,
    .no_gradient = true,
    .stateful = true,
    .samples = {"int32[1]{9} int32[]{-3} int32[]{100} seed=3 seed2=7"},
};

std::vector<int64_t> permutation(KernelContext& c, int64_t rows) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  // One 32-bit word for each row; a block has four.
  PhiloxWords words(stream_for(c, uint64_t(rows + 3) / 4));
  for (int64_t i = 0; i + 1 < rows; ++i) {
    const auto other = i + int64_t(words.next() % uint32_t(rows - i));
    std::swap(order[size_t(i)], order[size_t(other)]);
  }
  return order;
}

void random_shuffle(KernelContext& c) {
  const Tensor& value = c.in(0);
  Tensor& out = c.out(0, value.shape());
  if (value.shape().rank() == 0 || value.shape()[0] <= 1)
    return copy_elements(value.dtype(), out.raw(), value.raw(), value.size());
  const int64_t rows = value.shape()[0], width = value.size() / rows;
  const std::vector<int64_t> order = permutation(c, rows);
  for_size(c.node(), value.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(value.data<T>() + order[size_t(i)] * width, width, out.data<T>() + i * width);
    }
  });
}

constexpr OpDef kRandomShuffle = {
    .name = "RandomShuffle",
    .doc = "The rows of the value in random order.",
    .inputs = {{"value", "T"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"seed", "int", "0"}, {"seed2", "int", "0"}, {"T", kAnyType}},
    .shape = same_shape,
    .kernel = random_shuffle,
    .no_gradient = true,
    .stateful = true,
    .samples = {"float[6,2] seed=3 seed2=7"},
};

constexpr std::array<const OpDef*, 5> kRows = {
    &kRandomUniform, &kRandomStandardNormal, &kTruncatedNormal, &kRandomUniformInt, &kRandomShuffle,
};

}  // namespace

OpFamily random_ops() { return kRows; }

}  // namespace capstan
