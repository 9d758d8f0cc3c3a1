#include "fuzz/row_check.h"

#include <fmt/format.h>

#include <optional>

#include "base/isa.h"
#include "base/memory_files.h"
#include "exec/program.h"
#include "fuzz/drawn_row.h"
#include "graph/gradients.h"
#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/catalog.h"
#include "plan/plan.h"

namespace capstan {
namespace {

// A task of its own for each way, so that none sees what another changed.
struct Place {
  explicit Place(const DrawnRow& drawn) {
    task->post = [](const std::function<void()>& rest) { rest(); };
    for (const DrawnRow::Input& input : drawn.inputs) {
      if (!input.variable) continue;
      auto variable = task->variables.get("", input.from.node->name(), input.from.dtype());
      if (input.value.valid()) variable->assign(input.value, *task->variable_memory);
    }
  }

  MemoryFiles files;
  std::shared_ptr<TaskState> task =
      std::make_shared<TaskState>("/job:localhost/task:0", 1, files, best_isa());
  std::shared_ptr<SessionState> session = std::make_shared<SessionState>();
  Cancellation cancellation;
};

// What one way gave: values, or a refusal.
struct Answer {
  std::vector<Tensor> values;
  std::optional<Error> error;
};

template <class Way>
Answer answer_of(const Way& way) {
  try {
    return {way(), std::nullopt};
  } catch (const Error& error) {
    return {{}, error};
  } catch (const std::bad_alloc&) {
    return {{}, resource_exhausted("out of memory")};
  }
}

// Internal errors are ours: no input may bring one about.
std::string fault_in(std::string_view way, const Answer& answer) {
  if (!answer.error) return "";
  const Code code = answer.error->code();
  if (code != Code::kInternal && code != Code::kUnknown) return "";
  return fmt::format("{}: {}", way, answer.error->what());
}

class Checker {
 public:
  Checker(const OpDef& def, DrawnRow& drawn) : def_(def), drawn_(drawn), node_(*drawn.node) {
    for (int i = 0; i < node_.outputs(); ++i) {
      if (!node_.output_is_ref(i) && node_.output_type(i) != DType::kResource)
        fetches_.push_back(node_.output(i));
    }
    for (const DrawnRow::Input& input : drawn.inputs) {
      if (!input.placeholder) continue;
      feeds_.push_back(input.from);
      fed_.push_back(input.value);
    }
  }

  bool computed() const { return computed_; }

  std::string check() {
    const Answer planned = answer_of([&] { return run_plan(fetches_, {&node_}); });
    if (std::string fault = fault_in("plan", planned); !fault.empty()) return fault;
    computed_ = !planned.error;
    // A blocking kernel by itself may wait for ever; the plan's was cancelled.
    if (def_.blocking || has_handles()) return "";
    const Answer direct = answer_of([&] { return run_kernel_alone(); });
    if (std::string fault = fault_in("kernel", direct); !fault.empty()) return fault;
    if (direct.error) return agree(direct, planned);
    if (std::string fault = check_shapes(direct.values); !fault.empty()) return fault;
    if (std::string fault = agree(direct, planned); !fault.empty()) return fault;
    if (std::string fault = check_constants(direct.values); !fault.empty()) return fault;
    return check_gradients();
  }

 private:
  bool has_handles() const {
    for (const DrawnRow::Input& input : drawn_.inputs) {
      if (!input.value.valid() && !input.variable) return true;
    }
    return false;
  }

  std::vector<Tensor> run_kernel_alone() {
    Place place(drawn_);
    std::vector<KernelInput> inputs;
    for (const DrawnRow::Input& input : drawn_.inputs) {
      auto variable = input.variable ? place.task->variables.get("", input.from.node->name(),
                                                                 input.from.dtype())
                                     : nullptr;
      inputs.push_back({input.variable ? Tensor() : input.value, variable});
    }
    RunContext run{place.task.get(), place.session.get(), &place.cancellation};
    std::vector<Tensor> outputs = run_kernel(node_, std::move(inputs), run), out;
    for (const Output& fetch : fetches_) out.push_back(outputs[size_t(fetch.index)].clone());
    return out;
  }

  std::vector<Tensor> run_plan(const std::vector<Output>& fetches, std::vector<Node*> targets) {
    Place place(drawn_);
    Plan plan = make_plan(drawn_.graph, {feeds_, fetches, std::move(targets)}, Placement{});
    std::vector<std::vector<Tensor>> values(plan.segments.size());
    auto value = [&](const Source& from) {
      return from.segment < 0 ? fed_[size_t(from.index)]
                              : values[size_t(from.segment)][size_t(from.index)];
    };
    for (size_t s = 0; s < plan.segments.size(); ++s) {
      std::vector<Tensor> inputs;
      for (const Source& from : plan.segments[s].inputs) inputs.push_back(value(from));
      values[s] = run_piece(std::move(plan.segments[s].piece), std::move(inputs), place);
    }
    std::vector<Tensor> out;
    for (const Source& from : plan.fetches) out.push_back(value(from).clone());
    return out;
  }

  static std::vector<Tensor> run_piece(Piece piece, std::vector<Tensor> inputs, Place& place) {
    auto program = Program::make(std::move(piece), place.task, place.session);
    std::vector<Tensor> out;
    if (!program->blocking()) {
      for (const Tensor& t : program->run(inputs, place.cancellation).outputs)
        out.push_back(t.clone());
      return out;
    }
    std::optional<Error> failure;
    int calls = 0;
    program->start(std::move(inputs), place.cancellation,
                   [&](const Error* error, const ProgramResult& result) {
                     ++calls;
                     if (error) failure = *error;
                     for (const Tensor& t : result.outputs) out.push_back(t.clone());
                   });
    place.cancellation.cancel();
    if (calls != 1) throw internal_error("a blocking op ended {} times", calls);
    if (failure) throw *failure;
    return out;
  }

  // What the row says of its outputs when everything about its inputs is known.
  Answer announced(std::vector<Shape>& shapes) const {
    return answer_of([&]() -> std::vector<Tensor> {
      std::vector<Shape> inputs;
      for (const DrawnRow::Input& input : drawn_.inputs) inputs.push_back(input.value.shape());
      ShapeContext context(node_, std::move(inputs), [&](int i) -> const Tensor* {
        const DrawnRow::Input& input = drawn_.inputs[size_t(i)];
        return input.variable ? nullptr : &input.value;
      });
      infer_shapes(context);
      shapes = context.outputs();
      return {};
    });
  }

  std::string check_shapes(const std::vector<Tensor>& values) const {
    for (const DrawnRow::Input& input : drawn_.inputs) {
      if (!input.value.valid()) return "";
    }
    std::vector<Shape> shapes;
    const Answer said = announced(shapes);
    if (said.error) {
      return fmt::format("the shape function refuses what the kernel computes: {}",
                         said.error->what());
    }
    for (size_t k = 0; k < values.size(); ++k) {
      const int i = fetches_[k].index;
      const Shape &early = node_.output_shape(i), &late = shapes[size_t(i)],
                  &made = values[k].shape();
      if (values[k].dtype() == node_.output_type(i) && early.compatible_with(made) &&
          late.compatible_with(made))
        continue;
      return fmt::format("output {} is {} {}, announced as {} {}, then {}", i,
                         dtype_name(values[k].dtype()), made, dtype_name(node_.output_type(i)),
                         early, late);
    }
    return "";
  }

  std::string agree(const Answer& direct, const Answer& planned) const {
    if (direct.error.has_value() != planned.error.has_value()) {
      return fmt::format("the kernel {}, the plan {}", text(direct), text(planned));
    }
    for (size_t k = 0; k < direct.values.size() && !def_.stateful; ++k) {
      if (direct.values[k].equals(planned.values[k])) continue;
      return fmt::format("output {}: the kernel gives {} {}, the plan {} {}", fetches_[k].index,
                         direct.values[k].shape(), direct.values[k].text(),
                         planned.values[k].shape(), planned.values[k].text());
    }
    return "";
  }

  static std::string text(const Answer& answer) {
    return answer.error ? fmt::format("refuses ({})", answer.error->what()) : "computes";
  }

  // Values that the graph foretells are those that the kernel gives.
  std::string check_constants(const std::vector<Tensor>& values) const {
    for (size_t k = 0; k < values.size(); ++k) {
      for (const auto& known : {constant_value(fetches_[k]), constant_for_shape(fetches_[k])}) {
        if (!known || known->equals(values[k])) continue;
        return fmt::format("output {} is {} {}, but was foretold as {} {}", fetches_[k].index,
                           values[k].shape(), values[k].text(), known->shape(), known->text());
      }
    }
    return "";
  }

  std::string check_gradients() {
    std::vector<Output> ys, xs;
    std::vector<Shape> shapes;
    for (const Output& fetch : fetches_) {
      if (is_floating(fetch.dtype())) ys.push_back(fetch);
    }
    for (const DrawnRow::Input& input : drawn_.inputs) {
      if (input.variable || !is_floating(input.from.dtype())) continue;
      xs.push_back(input.from);
      shapes.push_back(input.value.shape());
    }
    if (ys.empty() || xs.empty()) return "";
    std::vector<Output> wanted;
    std::vector<Shape> expected;
    const Answer values = answer_of([&] {
      const std::vector<Output> grads = gradients(drawn_.graph, ys, xs);
      for (size_t i = 0; i < grads.size(); ++i) {
        if (!grads[i]) continue;
        wanted.push_back(grads[i]);
        expected.push_back(shapes[i]);
      }
      return run_plan(wanted, {});
    });
    if (std::string fault = fault_in("gradient", values); !fault.empty()) return fault;
    for (size_t i = 0; i < values.values.size(); ++i) {
      if (values.values[i].shape() == expected[i]) continue;
      return fmt::format("a gradient has shape {}, its input {}", values.values[i].shape(),
                         expected[i]);
    }
    return "";
  }

  const OpDef& def_;
  DrawnRow& drawn_;
  Node& node_;
  std::vector<Output> fetches_, feeds_;
  std::vector<Tensor> fed_;
  bool computed_ = false;
};

std::string inputs_text(const DrawnRow& drawn) {
  std::string text;
  for (const DrawnRow::Input& input : drawn.inputs) {
    text += fmt::format(" {}{} {}{}", dtype_name(input.from.dtype()), input.value.shape(),
                        input.value.valid() ? input.value.text() : "unset",
                        input.variable      ? " variable"
                        : input.placeholder ? fmt::format(" fed as {}", input.from.shape())
                                            : "");
  }
  return text;
}

}  // namespace

RowCheck check_row(const OpDef& def, std::string_view bytes) {
  Choices choices(bytes);
  DrawnRow drawn(standard_catalog());
  try {
    draw_row(def, choices, drawn);
  } catch (const Error& error) {
    return {fault_in("graph", {{}, error})};
  }
  Checker checker(def, drawn);
  const std::string fault = checker.check();
  if (fault.empty()) return {"", checker.computed()};
  return {fmt::format("{}:{}: {}", def.name, inputs_text(drawn), fault)};
}

}  // namespace capstan
