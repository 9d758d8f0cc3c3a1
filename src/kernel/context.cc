#include "kernel/context.h"

#include <optional>

#include "graph/shape_context.h"
#include "kernel/elementwise.h"

namespace capstan {
namespace {

void run_block(const Node& node, std::span<const Tensor> inputs, Tensor& output, TaskState& task) {
  // Select-like rows take a condition first: the type that decides is the last input's.
  const DType in = inputs.empty() ? DType::kInvalid : inputs.back().dtype();
  BlockFn block = node.def().block(in, task.isa);
  if (!block) throw unimplemented("{} has no kernel for {}", node.op(), dtype_name(in));
  ChainOp op{block, {}, node.output_type(0)};
  std::vector<DType> types;
  std::vector<const Tensor*> values;
  for (const Tensor& input : inputs) {
    op.args.push_back(int(types.size()));
    types.push_back(input.dtype());
    values.push_back(&input);
  }
  const Shape shape = elementwise_shape(node, values);
  const int kept = int(types.size());
  output = Tensor(node.output_type(0), shape);
  Tensor* outputs[] = {&output};
  ElementwiseChain({std::move(op)}, std::move(types), {kept})
      .run(values, shape, outputs, task.pool);
}

void run_blocking(const Node& node, KernelContext& context) {
  bool finished = false;
  std::optional<Error> error;
  ContextBuilder(context).on_finish([&](const Error* e) {
    finished = true;
    if (e) error = *e;
  });
  start_checked(context);
  if (!finished) throw internal_error("{} waits, which run_kernel() does not", node.name());
  if (error) throw *error;
}

// What a reference output stands for, once the kernel has run.
void set_references(const Node& node, std::span<const KernelInput> inputs,
                    std::span<Tensor> outputs) {
  for (int i = 0; i < node.outputs(); ++i) {
    if (!node.output_is_ref(i) || outputs[size_t(i)].valid()) continue;
    for (const KernelInput& input : inputs) {
      if (!input.variable) continue;
      outputs[size_t(i)] = input.variable->value();
      break;
    }
  }
}

void check_ranks(const KernelContext& c) {
  for (int i = 0; i < c.inputs(); ++i) check_input_rank(c.node(), i, c.in(i).shape());
}

}  // namespace

Error unforeseen_shape(const Node& node, int output, const Shape& made, const Shape& foreseen) {
  return internal_error(
             "{} made output {} of shape {}, where its shape function had announced {}: its row's "
             "kernel and shape must agree",
             node.op(), output, made, foreseen)
      .at_op(node.name());
}

Shape elementwise_shape(const Node& node, std::span<const Tensor* const> inputs) {
  Shape shape = inputs[0]->shape();
  for (const Tensor* input : inputs.subspan(1)) {
    if (!node.def().equal_inputs) {
      shape = broadcast(shape, input->shape());
    } else if (!(input->shape() == shape)) {
      throw invalid_argument("{} (node '{}') needs inputs of one shape, but they have {} and {}",
                             node.op(), node.name(), shape, input->shape());
    }
  }
  return shape;
}

void run_checked(KernelContext& context) {
  check_ranks(context);
  context.node().def().kernel(context);
}

void start_checked(KernelContext& context) {
  check_ranks(context);
  context.node().def().blocking(context);
}

void KernelContext::no_variable(int i) const {
  throw invalid_argument("{} (node '{}') needs a variable as its input {}, but '{}' is none",
                         node_->op(), node_->name(), i, node_->input(i).name());
}

Tensor& KernelContext::allocate(int i, const Shape& shape) {
  const Place& place = outputs_[size_t(i)];
  if (place.foreseen && !(*place.foreseen == shape))
    throw unforeseen_shape(*node_, i, shape, *place.foreseen);
  return *place.tensor = Tensor(node_->output_type(i), shape);
}

void KernelContext::refuse(int i, const Shape& made) const {
  if (node_->def().blocking) return;
  const Place& place = outputs_[size_t(i)];
  if (!(*place.foreseen == made)) throw unforeseen_shape(*node_, i, made, *place.foreseen);
  throw internal_error(
      "{} hands on a tensor as output {}, for which a place of shape {} was laid out: its row must "
      "say so (hands_on), or write to out()",
      node_->op(), i, made);
}

void KernelContext::done() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Place& place = outputs_[i];
    if (place.foreseen && !(*place.foreseen == place.tensor->shape()))
      return fail(unforeseen_shape(*node_, int(i), place.tensor->shape(), *place.foreseen));
  }
  take_finish()(nullptr);
}

std::vector<Tensor> run_kernel(const Node& node, std::vector<KernelInput> inputs, RunContext& run) {
  const OpDef& def = node.def();
  std::vector<Tensor> values, outputs(size_t(node.outputs()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    // A kernel that takes the reference reaches the variable itself.
    const bool read = inputs[i].variable && !node.input_is_ref(int(i));
    values.push_back(read ? inputs[i].variable->value() : inputs[i].value);
  }
  if (def.block) {
    run_block(node, values, outputs[0], *run.task);
    return outputs;
  }
  KernelContext context;
  ContextBuilder builder(context);
  builder.node(&node, def.prepare ? def.prepare(node) : nullptr);
  builder.run(&run);
  for (size_t i = 0; i < inputs.size(); ++i) builder.input(&values[i], inputs[i].variable);
  for (Tensor& output : outputs) builder.output(&output, nullptr, false);
  if (def.kernel) {
    run_checked(context);
  } else if (def.blocking) {
    run_blocking(node, context);
  } else {
    throw unimplemented("{} has no kernel", node.op());
  }
  set_references(node, inputs, outputs);
  return outputs;
}

}  // namespace capstan
