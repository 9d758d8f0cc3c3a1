#pragma once

// A composite, whole, in one row: what programs call it, its parameters with TensorFlow's names,
// order and defaults, what it does, and the function that adds its nodes. The row stands below that
// function, in the family's list of rows (losses.cc); the C++ declaration (build/composites.h), the
// Python function and its help are made from it.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "build/basics.h"
#include "build/variables.h"

namespace capstan {

// --- What functions take and give ----------------------------------------------------------------

// How the losses of a batch become one.
enum class Reduction : uint8_t {
  kNone,                // the weighted losses themselves
  kSum,                 // their sum
  kMean,                // over the sum of the weights
  kOverBatchSize,       // over the number of losses
  kOverNonzeroWeights,  // over the number of losses whose weight is not 0
};
// By TensorFlow's names ("weighted_sum").
Reduction reduction_called(std::string_view name);

using Seed = std::optional<int64_t>;
using ShapeArgument = std::variant<std::monostate, Shape, Output>;

// An argument, whatever the function. The kind of a parameter is the position of its type here.
using Argument =
    std::variant<Graph*, Output, std::vector<Output>, Hyper, double, bool, int, std::string, DType,
                 Shape, ShapeArgument, Axes, Seed, Reduction, VariableRef>;
using Built = std::variant<Output, std::vector<Output>, Node*>;

template <class T>
struct StoredAs {
  using type = std::remove_cvref_t<T>;
};
template <>
struct StoredAs<Graph&> {
  using type = Graph*;
};
template <>
struct StoredAs<std::string_view> {
  using type = std::string;
};
template <>
struct StoredAs<std::span<const Output>> {
  using type = std::vector<Output>;
};

template <class T, size_t i = 0>
constexpr uint8_t kind_of() {
  if constexpr (std::is_same_v<std::variant_alternative_t<i, Argument>, T>) {
    return i;
  } else {
    return kind_of<T, i + 1>();
  }
}

// The argument as a function takes it; what the span holds outlives the call.
template <class T>
T passed(const Argument& given) {
  const auto& stored = std::get<typename StoredAs<T>::type>(given);
  if constexpr (std::is_same_v<T, Graph&>) {
    return *stored;
  } else {
    return stored;
  }
}

inline Built built(Output made) { return made; }
inline Built built(std::vector<Output> made) { return made; }
inline Built built(Node& made) { return &made; }

// A function as the row has it: the kinds of its parameters, and a call with arguments of these.
struct Builder {
  std::span<const uint8_t> kinds = {};
  Built (*call)(std::span<const Argument>) = nullptr;
};

template <auto function>
struct CallOf;
template <class Result, class... Parameters, Result (*function)(Parameters...)>
struct CallOf<function> {
  static constexpr std::array<uint8_t, sizeof...(Parameters)> kKinds = {
      kind_of<typename StoredAs<Parameters>::type>()...};
  static Built call(std::span<const Argument> given) {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return built(function(passed<Parameters>(given[i])...));
    }(std::index_sequence_for<Parameters...>{});
  }
};

template <auto function>
inline constexpr Builder builder = {CallOf<function>::kKinds, &CallOf<function>::call};

// --- The row -------------------------------------------------------------------------------------

struct CompositeDef {
  // The C++ function.
  std::string_view name;
  // Its names in Python, and its parameters there: "losses.log_loss (labels, epsilon=1e-7, ...)".
  // They come in the order of the C++ function's. What stands after a colon says how a value is
  // taken:
  //   labels: float32               cast to that type
  //   decay_steps: type of rate     cast to the type of another parameter
  //   mean: as dtype                a constant of the type that another parameter has, or is
  //   shape: sizes                  whole numbers, even where there are none
  //   learning_rate: floating       must be a fraction
  //   dim: for axis                 an older name of another parameter
  //   loss_collection: collection   where the result is put
  // `name` or `scope` is the C++ function's last parameter. Without a public name (python is
  // "(logits, ...)", or empty) the function is one that Python's own functions call.
  std::string_view python = {};
  std::string_view doc = {};
  // The scope of its nodes where the program gives none.
  std::string_view scope = {};
  // In which order arguments become tensors, where it is not their own: later names depend on it.
  std::string_view order = {};
  // What the constants made of arguments are called, where it is not the parameter's name:
  // "rate=initial_rate logits=Const".
  std::string_view constants = {};
  Builder build = {};
};

using CompositeFamily = std::span<const CompositeDef>;

// The row of a C++ function; throws NotFound where there is none.
const CompositeDef& composite_called(std::string_view name);
std::vector<const CompositeDef*> all_composites();
// One list per file; the build finds them (tools/make_builders.py).
std::vector<CompositeFamily> composite_families();

}  // namespace capstan
