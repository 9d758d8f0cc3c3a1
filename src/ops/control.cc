// Ops that stand for inputs, order other ops, or speak to the person.

#include <array>
#include <atomic>
#include <cstdio>

#include "graph/gradients.h"
#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/types.h"

namespace capstan {
namespace {

void nothing_to_run(KernelContext&) {}

void attr_shape(ShapeContext& c) { c.out(0, c.attr<Shape>("shape")); }

constexpr OpDef kNoOp = {
    .name = "NoOp",
    .doc = "Does nothing; its control inputs make it a group of other ops.",
    .shape = no_outputs,
    .kernel = nothing_to_run,
};

constexpr OpDef kControlTrigger = {
    .name = "ControlTrigger",
    .doc = "Does nothing; orders what comes before and after it.",
    .shape = no_outputs,
    .kernel = nothing_to_run,
};

void unset_argument(KernelContext& c) {
  throw invalid_argument(
      "'{}' stands for a value that comes into a piece of a plan, which this is not",
      c.node().name());
}

constexpr OpDef kArg = {
    .name = "_Arg",
    .doc = "A value that comes into a piece of a plan; whoever runs the piece sets it.",
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType}, {"index", "int>=0"}, {"shape", "shape", "?"}},
    .shape = attr_shape,
    .kernel = unset_argument,
    .stateful = true,
};

void unfed_placeholder(KernelContext& c) {
  throw invalid_argument(
      "You must feed a value for placeholder tensor '{}' with dtype {} and shape {}: put it into "
      "feed_dict",
      c.node().name(), dtype_name(c.node().output_type(0)), c.node().output_shape(0));
}

constexpr OpDef placeholder_row(std::string_view name, std::string_view shape_default) {
  return {.name = name,
          .doc = "A value that every run has to feed.",
          .outputs = {{"output", "dtype"}},
          .attrs = {{"dtype", kAnyType}, {"shape", "shape", shape_default}},
          .shape = attr_shape,
          .kernel = unfed_placeholder,
          .stateful = true};
}

constexpr OpDef kPlaceholder = placeholder_row("Placeholder", "?");
constexpr OpDef kPlaceholderV2 = placeholder_row("PlaceholderV2", "");

void check_default(const Shape& given, const Shape& shape) {
  if (given.compatible_with(shape)) return;
  throw invalid_argument("the default of shape {} does not fit the shape {}", given, shape);
}

void default_shape(ShapeContext& c) {
  const Shape& shape = c.attr<Shape>("shape");
  check_default(c.in(0), shape);
  c.out(0, shape);
}

// Whoever uses the value relies on the shape, of which the default may have said less.
void hand_on_default(KernelContext& c) {
  check_default(c.in(0).shape(), c.state<Shape>());
  c.set_out(0, c.in(0));
}

// Not to be folded: the value may be fed in another run.
constexpr OpDef kPlaceholderWithDefault = {
    .name = "PlaceholderWithDefault",
    .doc = "The input, unless a run feeds another value.",
    .inputs = {{"input", "dtype"}},
    .outputs = {{"output", "dtype"}},
    .attrs = {{"dtype", kAnyType}, {"shape", "shape"}},
    .shape = default_shape,
    .kernel = hand_on_default,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Shape>(node.attrs().get<Shape>("shape"));
    },
    .gradient = [](GradContext& g) -> Values { return {g.dy(0)}; },
    .hands_on = true,
    .samples = {"float[2,3] shape=[2,3]"},
};

// --- Assert, Print -------------------------------------------------------------------------------

std::string brackets(KernelContext& c, int first, std::string_view between) {
  const int64_t summarize = c.node().attrs().get<int64_t>("summarize");
  std::string text;
  for (int i = first; i < c.inputs(); ++i) {
    if (i > first) text += between;
    const Tensor& value = c.in(i);
    // text() puts arrays into brackets of its own.
    std::string elements = value.text(summarize < 0 ? value.size() : summarize);
    text += elements.starts_with('[') ? elements : '[' + elements + ']';
  }
  return text;
}

constexpr OpDef kAssert = {
    .name = "Assert",
    .python = "Assert (condition, data, summarize=None)",
    .doc = "Fails with the data unless the condition holds.",
    .inputs = {{"condition", "bool", 0}, {"data", "T"}},
    .attrs = {{"T", "list(type)>=1"}, {"summarize", "int", "3"}},
    .shape = no_outputs,
    .kernel =
        [](KernelContext& c) {
          if (!*c.in(0).data<bool>()) {
            throw invalid_argument("assertion failed: {}", brackets(c, 1, " "));
          }
        },
    .no_gradient = true,
    .stateful = true,
};

struct PrintState {
  mutable std::atomic<int64_t> left;  // below 0: no limit
};

std::shared_ptr<void> prepare_print(const Node& node) {
  auto state = std::make_shared<PrintState>();
  state->left = node.attrs().get<int64_t>("first_n");
  return state;
}

void print(KernelContext& c) {
  auto& left = c.state<PrintState>().left;
  const bool limited = c.node().attrs().get<int64_t>("first_n") >= 0;
  if (!limited || left.fetch_sub(1) > 0) {
    const std::string line =
        c.node().attrs().get<std::string>("message") + brackets(c, 1, "") + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  c.set_out(0, c.in(0));
}

Values print_gradient(GradContext& g) {
  Values grads(g.node().inputs().size());
  grads[0] = g.dy(0);
  return grads;
}

constexpr OpDef kPrint = {
    .name = "Print",
    .python = "Print (input_:input, data, message=None, first_n=None, summarize=None)",
    .doc = "The input, after writing the message and the data to standard error.",
    .inputs = {{"input", "T"}, {"data", "U"}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kAnyType},
              {"U", "list(type)"},
              {"message", "string", "''"},
              {"first_n", "int", "-1"},
              {"summarize", "int", "3"}},
    .shape = same_shape,
    .kernel = print,
    .prepare = prepare_print,
    .gradient = print_gradient,
    .hands_on = true,
    .stateful = true,
    .samples = {"float[2,3] float[2] first_n=0"},
};

constexpr std::array<const OpDef*, 8> kRows = {
    &kNoOp,          &kControlTrigger,         &kArg,    &kPlaceholder,
    &kPlaceholderV2, &kPlaceholderWithDefault, &kAssert, &kPrint,
};

}  // namespace

OpFamily control_ops() { return kRows; }

}  // namespace capstan
