#pragma once

// An optimizer, whole, in one row: what programs call it, the parameters of its constructor with
// TensorFlow's names, order and defaults, the variables that it keeps, and what applies a gradient.
// The C++ function (build/optimizers.h), the Python class and its help are made from the row.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "build/optimizer.h"
#include "graph/op_def.h"

namespace capstan {

class ApplyContext;

// A variable beside each trained one.
struct SlotDef {
  std::string_view kind;          // by which programs ask for it: get_slot(var, "momentum")
  std::string_view initial = {};  // the parameter that it starts at; empty: zeros
};

// A variable of the optimizer's own: begins at a parameter, and is multiplied by it in every step.
struct PowerDef {
  std::string_view name, of;
};

// What applies a gradient: one op, or a function that adds nodes. Inputs of the op: "var", "grad",
// "@m" for a slot or a power, else a parameter. Bool parameters are its attrs.
struct ApplyDef {
  std::string_view op = {}, inputs = {};
  Node& (*build)(const ApplyContext&) = nullptr;
};

struct OptimizerDef {
  // The C++ function.
  std::string_view name;
  // Its names in Python, and the parameters of both: "train.AdamOptimizer (learning_rate=0.001,
  // ...)". They are numbers or tensors, unless their default is a bool or a text; what stands after
  // a colon says what else is known:
  //   epsilon: number                        a number, known when the graph is built
  //   initial_accumulator_value: positive    such a number, above 0
  //   learning_rate: kept as lr              subclasses find it as self._lr
  std::string_view python_class = {};
  std::string_view doc = {};
  RowList<SlotDef, 4> slots = {};
  RowList<PowerDef, 2> powers = {};
  // For gradients that are one tensor.
  ApplyDef dense = {};
};

// A parameter's value: a number or a tensor, or what its default is.
using Setting = std::variant<Hyper, bool, std::string>;

// What a function that applies a gradient may ask for.
class ApplyContext {
 public:
  virtual ~ApplyContext() = default;
  virtual Graph& graph() const = 0;
  virtual Output gradient() const = 0;
  virtual const VariableRef& variable() const = 0;
  // A parameter or a power, in the variable's type.
  virtual Output parameter(std::string_view name) const = 0;
  virtual const VariableRef& slot(std::string_view kind) const = 0;
  virtual Output power(std::string_view name) const = 0;
  virtual bool use_locking() const = 0;
};

using OptimizerFamily = std::span<const OptimizerDef>;

// One list per file; the build finds them (tools/make_builders.py).
std::vector<OptimizerFamily> optimizer_families();
std::vector<const OptimizerDef*> all_optimizers();
// The row of a C++ function; throws NotFound where there is none.
const OptimizerDef& optimizer_called(std::string_view name);

// Settings are as many as the row has parameters, in their order. Throws InvalidArgument for one
// that the row does not allow. The row outlives the optimizer.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerDef& row, std::vector<Setting> settings);
std::unique_ptr<Optimizer> make_optimizer(std::string_view name, std::vector<Setting> settings);

}  // namespace capstan
