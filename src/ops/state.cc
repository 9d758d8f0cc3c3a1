// Variables, the assignments to them, and updates of some of their rows.

#include <algorithm>
#include <array>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/wrapping.h"
#include "ops/families.h"
#include "ops/types.h"
#include "ops/window.h"
#include "ops/write_locks.h"

namespace capstan {
namespace {

// --- Variables -----------------------------------------------------------------------------------

void variable_shape(ShapeContext& c) { c.out(0, c.attr<Shape>("shape")); }

// In the old op a scalar shape also stood for an unknown one.
void old_variable_shape(ShapeContext& c) {
  const Shape& shape = c.attr<Shape>("shape");
  c.out(0, shape.known_rank() && shape.rank() == 0 ? Shape::unknown() : shape);
}

// Consumers reach the variable through the task's store; making the reference costs nothing.
void nothing_to_run(KernelContext&) {}

constexpr OpDef variable_row(std::string_view name, void (*shape)(ShapeContext&)) {
  return {.name = name,
          .doc = "A tensor that outlives the step, in the store of its task.",
          .outputs = {{"ref", "Ref(dtype)"}},
          .attrs = {{"shape", "shape"},
                    {"dtype", kAnyType},
                    {"container", "string", "''"},
                    {"shared_name", "string", "''"}},
          .shape = shape,
          .kernel = nothing_to_run,
          .no_gradient = true,
          .stateful = true,
          .variable = true};
}

constexpr OpDef kVariableV2 = variable_row("VariableV2", variable_shape);
constexpr OpDef kVariable = variable_row("Variable", old_variable_shape);

constexpr OpDef kIsVariableInitialized = {
    .name = "IsVariableInitialized",
    .doc = "Whether the variable has been assigned a value.",
    .inputs = {{"ref", "Ref(dtype)"}},
    .outputs = {{"is_initialized", "bool"}},
    .attrs = {{"dtype", kAnyType}},
    .shape = scalar_shape,
    .kernel =
        [](KernelContext& c) { *c.out(0, Shape{}).data<bool>() = c.variable(0).initialized(); },
    .no_gradient = true,
    .stateful = true,
    .allows_uninitialized_ref = true,
};

// TensorFlow has a cond here, which reads the variable or evaluates the other value.
void initialized_value(KernelContext& c) {
  Variable& variable = c.variable(0);
  const Tensor value = variable.initialized() ? variable.value() : c.in(1);
  Tensor& out = c.out(0, value.shape());
  copy_elements(out.dtype(), out.raw(), value.raw(), value.size());
}

constexpr OpDef kInitializedValue = {
    .name = "InitializedValue",
    .doc = "The variable's value; before its first assignment the other one.",
    .inputs = {{"ref", "Ref(T)"}, {"otherwise", "T"}},
    .outputs = {{"value", "T"}},
    .attrs = {{"T", kAnyType}},
    // Either may be given out: what both agree on is known.
    .shape = [](ShapeContext& c) { c.out(0, c.in(0) == c.in(1) ? c.in(1) : Shape::unknown()); },
    .kernel = initialized_value,
    .no_gradient = true,
    .stateful = true,
    .allows_uninitialized_ref = true,
};

// --- Assign --------------------------------------------------------------------------------------

struct AssignState {
  bool validate, locks;
  Shape declared;
};

void assign_shape(ShapeContext& c) {
  const bool validate = c.attr<bool>("validate_shape");
  c.out(0, validate ? c.in(0).merged_with(c.in(1)) : c.in(1));
}

std::shared_ptr<void> prepare_assign(const Node& node) {
  return std::make_shared<AssignState>(AssignState{node.attrs().get<bool>("validate_shape"),
                                                   node.attrs().get<bool>("use_locking"),
                                                   node.input(0).shape()});
}

void check_assign(const AssignState& state, const Variable& variable, const Shape& value) {
  const Shape present = variable.initialized() ? variable.value().shape() : state.declared;
  if (present.compatible_with(value)) return;
  throw invalid_argument(
      "Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {} "
      "(variable {}); validate_shape=False lets it take another shape",
      present, value, variable.name());
}

void assign(KernelContext& c) {
  const auto& state = c.state<AssignState>();
  Variable& variable = c.variable(0);
  const WriteLocks locks(c, {0}, state.locks);
  if (state.validate) {
    check_assign(state, variable, c.in(1).shape());
  } else if (!state.declared.compatible_with(c.in(1).shape())) {
    c.task().variables.note_reshaped();
  }
  variable.assign(c.in(1), *c.task().variable_memory, c.loans());
}

constexpr OpDef kAssign = {
    .name = "Assign",
    .doc = "Sets the variable to the value; its first assignment initializes it.",
    .inputs = {{"ref", "Ref(T)"}, {"value", "T"}},
    .outputs = {{"output_ref", "Ref(T)"}},
    .attrs = {{"T", kAnyType}, {"validate_shape", "bool", "true"}, {"use_locking", "bool", "true"}},
    .shape = assign_shape,
    .kernel = assign,
    .prepare = prepare_assign,
    .no_gradient = true,
    .stateful = true,
    .allows_uninitialized_ref = true,
    .writes = 1,
    .samples = {"float[2,3] float[2,3]"},
};

// --- AssignAdd, AssignSub ------------------------------------------------------------------------

using Update = void (*)(Tensor& variable, const Tensor& value);

struct UpdateState {
  Update update;
  bool locks;
};

template <class T>
void add(Tensor& variable, const Tensor& value) {
  T* out = variable.data<T>();
  const T* in = value.data<T>();
  for (int64_t i = 0; i < variable.size(); ++i) out[i] = wrapping_add(out[i], in[i]);
}

template <class T>
void subtract(Tensor& variable, const Tensor& value) {
  T* out = variable.data<T>();
  const T* in = value.data<T>();
  for (int64_t i = 0; i < variable.size(); ++i) out[i] = wrapping_subtract(out[i], in[i]);
}

std::shared_ptr<void> prepare_add(const Node& node) {
  Update update = for_number(node, node.attrs().get<DType>("T"),
                             [](auto tag) -> Update { return add<typename decltype(tag)::type>; });
  return std::make_shared<UpdateState>(UpdateState{update, node.attrs().get<bool>("use_locking")});
}

std::shared_ptr<void> prepare_subtract(const Node& node) {
  Update update = for_number(node, node.attrs().get<DType>("T"), [](auto tag) -> Update {
    return subtract<typename decltype(tag)::type>;
  });
  return std::make_shared<UpdateState>(UpdateState{update, node.attrs().get<bool>("use_locking")});
}

void update(KernelContext& c) {
  const auto& state = c.state<UpdateState>();
  const WriteLocks locks(c, {0}, state.locks);
  VariableWrite variable(c.variable(0), *c.task().variable_memory, c.loans());
  if (!(variable.shape() == c.in(1).shape())) {
    throw invalid_argument("variable {} of shape {} cannot be updated by a value of shape {}",
                           c.variable(0).name(), variable.shape(), c.in(1).shape());
  }
  state.update(variable.value(), c.in(1));
}

constexpr OpDef update_row(std::string_view name, std::string_view doc,
                           std::shared_ptr<void> (*prepare)(const Node&)) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"ref", "Ref(T)"}, {"value", "T"}},
          .outputs = {{"output_ref", "Ref(T)"}},
          .attrs = {{"T", kNumberTypes}, {"use_locking", "bool", "false"}},
          .shape = ref_same_shape,
          .kernel = update,
          .prepare = prepare,
          .no_gradient = true,
          .stateful = true,
          .writes = 1,
          .samples = {"float[2,3] float[2,3]"}};
}

constexpr OpDef kAssignAdd =
    update_row("AssignAdd", "Adds the value to the variable, in place.", prepare_add);
constexpr OpDef kAssignSub =
    update_row("AssignSub", "Subtracts the value from the variable, in place.", prepare_subtract);

// --- Scatter -------------------------------------------------------------------------------------

// Calls row(target row, source row) for each index; throws for one that is outside.
template <class Row>
void for_indices(const Tensor& indices, int64_t rows, const Row& row) {
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t index = int_at(indices, i);
    if (index < 0 || index >= rows) {
      throw invalid_argument("indices[{}] = {} is not in [0, {})", i, index, rows);
    }
    row(index, i);
  }
}

struct ScatterArgs {
  Tensor variable;
  const Tensor &indices, &updates;
  int64_t rows, width;
  int64_t step;  // 0 when one scalar serves for all
};

ScatterArgs scatter_args(KernelContext& c, Tensor& variable) {
  const Tensor &indices = c.in(1), &updates = c.in(2);
  const Shape& shape = variable.shape();
  if (shape.rank() == 0) {
    throw invalid_argument("variable {} is a scalar, it has no rows to update",
                           c.variable(0).name());
  }
  Shape expected = indices.shape();
  for (int64_t dim : shape.dims().subspan(1)) expected.push_back(dim);
  const bool scalar = updates.shape().rank() == 0;
  if (!scalar && !(updates.shape() == expected)) {
    throw invalid_argument(
        "updates for variable {} of shape {} at indices of shape {} must have shape "
        "{} (or be a scalar), not {}",
        c.variable(0).name(), shape, indices.shape(), expected, updates.shape());
  }
  const int64_t width = shape.elements() / std::max<int64_t>(shape[0], 1);
  return {variable, indices, updates, shape[0], width, scalar ? 0 : width};
}

template <class T, class Combine>
void scatter_rows(ScatterArgs& args, const Combine& combine) {
  for_indices(args.indices, args.rows, [&](int64_t target, int64_t source) {
    T* out = args.variable.data<T>() + target * args.width;
    const T* in = args.updates.data<T>() + source * args.step;
    for (int64_t i = 0; i < args.width; ++i) out[i] = combine(out[i], in[args.step == 0 ? 0 : i]);
  });
}

void scatter_add(KernelContext& c) {
  const WriteLocks locks(c, {0}, c.node().attrs().get<bool>("use_locking"));
  VariableWrite variable(c.variable(0), *c.task().variable_memory, c.loans());
  ScatterArgs args = scatter_args(c, variable.value());
  for_number(c.node(), args.variable.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    scatter_rows<T>(args, wrapping_add<T>);
  });
}

void scatter_sub(KernelContext& c) {
  const WriteLocks locks(c, {0}, c.node().attrs().get<bool>("use_locking"));
  VariableWrite variable(c.variable(0), *c.task().variable_memory, c.loans());
  ScatterArgs args = scatter_args(c, variable.value());
  for_number(c.node(), args.variable.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    scatter_rows<T>(args, wrapping_subtract<T>);
  });
}

void scatter_update(KernelContext& c) {
  const WriteLocks locks(c, {0}, c.node().attrs().get<bool>("use_locking"));
  VariableWrite variable(c.variable(0), *c.task().variable_memory, c.loans());
  ScatterArgs args = scatter_args(c, variable.value());
  for_number(c.node(), args.variable.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    scatter_rows<T>(args, [](T, T b) { return b; });
  });
}

void scatter_shape(ShapeContext& c) { c.out(0, c.in(0)); }

constexpr OpDef scatter_row(std::string_view name, std::string_view doc, std::string_view locking,
                            void (*kernel)(KernelContext&)) {
  return {
      .name = name,
      .doc = doc,
      .inputs = {{"ref", "Ref(T)"}, {"indices", "Tindices"}, {"updates", "T"}},
      .outputs = {{"output_ref", "Ref(T)"}},
      .attrs = {{"T", kNumberTypes}, {"Tindices", kIndexTypes}, {"use_locking", "bool", locking}},
      .shape = scatter_shape,
      .kernel = kernel,
      .no_gradient = true,
      .stateful = true,
      .writes = 1,
      .samples = {"float[4,2] int32[3]{2,0,2} float[3,2]", "float[3] int32[2]{1,2} float[]"}};
}

constexpr OpDef kScatterAdd =
    scatter_row("ScatterAdd", "Adds rows to the variable's rows at the indices.", "false",
                scatter_add)
        .in_python("scatter_add");
constexpr OpDef kScatterSub =
    scatter_row("ScatterSub", "Subtracts rows from the variable's rows at the indices.", "false",
                scatter_sub)
        .in_python("scatter_sub");
constexpr OpDef kScatterUpdate =
    scatter_row("ScatterUpdate", "Sets the variable's rows at the indices.", "true", scatter_update)
        .in_python("scatter_update");

constexpr std::array<const OpDef*, 10> kRows = {
    &kVariableV2,       &kVariable,   &kIsVariableInitialized,
    &kInitializedValue, &kAssign,     &kAssignAdd,
    &kAssignSub,        &kScatterAdd, &kScatterSub,
    &kScatterUpdate,
};

}  // namespace

OpFamily state_ops() { return kRows; }

}  // namespace capstan
