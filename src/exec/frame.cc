#include "exec/frame.h"

#include <cstdlib>
#include <map>

#include "kernel/shared_bytes.h"
#include "tensor/memory.h"

namespace capstan {
namespace {

std::shared_ptr<void> allocate_arena(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* data = allocate_bytes(bytes);
  if (!data) throw resource_exhausted("cannot allocate {} bytes for the values of a step", bytes);
  return {data, std::free};
}

DType block_type(const Node& node) {
  // Select-like rows take a condition first: the type that decides is the last input's.
  return node.input(int(node.inputs().size()) - 1).dtype();
}

}  // namespace

Frame::Frame(const Piece& piece, const Layout& layout, std::shared_ptr<TaskState> task,
             std::shared_ptr<SessionState> session, const ProgramOptions& options,
             std::span<const std::shared_ptr<void>> states)
    : piece_(piece),
      layout_(layout),
      options_(options),
      task_(std::move(task)),
      session_(std::move(session)) {
  run_.task = task_.get();
  run_.session = session_.get();
  make_values();
  for (const Node* arg : piece.args)
    arguments_.push_back(&values_[size_t(layout.value_of(*arg, 0))]);
  for (const Output& o : piece.outputs) outputs_.push_back(&values_[size_t(layout.value_of(o))]);
  ready_.reserve(layout.actions.size());
  for (const Action& action : layout.actions) make_ready(action, states);
}

void Frame::make_values() {
  arena_ = allocate_arena(layout_.arena_bytes);
  values_.resize(layout_.values.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& v = layout_.values[i];
    if (v.storage == Storage::kConstant) values_[i] = v.constant;
    if (v.storage == Storage::kArena) values_[i] = in_arena(v);
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& v = layout_.values[i];
    if (v.storage == Storage::kAlias) values_[i] = values_[size_t(v.root)].reshaped(v.shape);
    if (v.storage == Storage::kArgument || v.storage == Storage::kDynamic)
      borrowed_.push_back(&values_[i]);
  }
  if (options_.output_memory) find_foreign_outputs();
}

Tensor Frame::in_arena(const Value& v) const {
  return Tensor(v.dtype, v.shape, static_cast<char*>(arena_.get()) + v.offset, arena_);
}

void Frame::find_foreign_outputs() {
  std::map<int, int> outputs;  // root -> the first output with its bytes
  for (size_t i = 0; i < piece_.outputs.size(); ++i) {
    const Value& v = layout_.values[size_t(layout_.value_of(piece_.outputs[i]))];
    if (v.root >= 0 && layout_.values[size_t(v.root)].storage == Storage::kArena)
      outputs.try_emplace(v.root, int(i));
  }
  for (auto [root, output] : outputs) {
    const Value& v = layout_.values[size_t(root)];
    if (!options_.output_memory(output, v.dtype, v.shape).valid()) continue;
    ForeignOutput foreign{output, size_t(root), {}};
    for (size_t i = 0; i < values_.size(); ++i) {
      const Value& other = layout_.values[i];
      if (other.storage == Storage::kAlias && other.root == root) foreign.aliases.push_back(i);
    }
    foreign_.push_back(std::move(foreign));
  }
}

void Frame::renew_outputs() {
  for (const ForeignOutput& f : foreign_) {
    const Value& root = layout_.values[f.root];
    Tensor memory = options_.output_memory(f.output, root.dtype, root.shape);
    values_[f.root] = memory.valid() ? std::move(memory) : in_arena(root);
    for (size_t alias : f.aliases)
      values_[alias] = values_[f.root].reshaped(layout_.values[alias].shape);
  }
}

std::shared_ptr<Variable> Frame::variable(const Node& node) {
  std::string shared = node.attrs().get_or<std::string>("shared_name", "");
  return task_->variables.get(node.attrs().get_or<std::string>("container", ""),
                              shared.empty() ? node.name() : shared, node.output_type(0));
}

void Frame::make_ready(const Action& action, std::span<const std::shared_ptr<void>> states) {
  ReadyAction ready;
  ready.kind = action.kind;
  ready.node = action.nodes[0];
  if (action.kind == Action::Kind::kChain) {
    make_chain(ready, action);
  } else {
    make_context(ready, *action.nodes[0], states[size_t(action.nodes[0]->id())]);
  }
  ready_.push_back(std::move(ready));
}

// Whether the layout has seen to it that the inputs have the ranks that the op asks for.
bool Frame::ranks_are_known(const Node& node) const {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input_rank(int(i)) == ArgDef::kAnyRank) continue;
    if (variable_input(node, int(i)) ||
        !layout_.values[size_t(layout_.value_of(node.input(int(i))))].shape.known_rank())
      return false;
  }
  return true;
}

void Frame::make_context(ReadyAction& ready, const Node& node, std::shared_ptr<void> state) {
  contexts_.push_back(std::make_unique<KernelContext>());
  ready.context = contexts_.back().get();
  ready.kernel = ranks_are_known(node) ? node.def().kernel : run_checked;
  ContextBuilder builder(*ready.context);
  builder.node(&node, std::move(state));
  builder.run(&run_);
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Node* from = variable_input(node, int(i));
    builder.input(from ? &none_ : tensor(node.input(int(i))), from ? variable(*from) : nullptr);
  }
  for (int i = 0; i < node.outputs(); ++i) {
    size_t number = size_t(layout_.value_of(node, i));
    const Value& v = layout_.values[number];
    builder.output(&values_[number], v.shape.fully_defined() ? &v.shape : nullptr,
                   v.storage == Storage::kArena);
  }
}

void Frame::make_chain(ReadyAction& ready, const Action& action) {
  std::vector<ChainOp> ops;
  std::vector<DType> types;
  std::vector<int> keep;
  std::vector<const Shape*> shapes;
  std::map<int, int> registers;  // value -> register
  for (const Node* node : action.nodes) {
    for (const Output& in : node->inputs()) {
      int number = layout_.value_of(in);
      bool inner = false;
      for (const Node* other : action.nodes) inner |= other == in.node;
      if (inner || registers.count(number)) continue;
      registers[number] = int(types.size());
      types.push_back(in.dtype());
      shapes.push_back(&layout_.values[size_t(number)].shape);
      ready.chain_inputs.push_back(tensor(in));
    }
  }
  for (const Node* node : action.nodes) {
    BlockFn block = node->def().block(block_type(*node), task_->isa);
    if (!block) {
      throw Error(Code::kUnimplemented,
                  fmt::format("{} has no kernel for {}", node->op(), dtype_name(block_type(*node))),
                  node->name());
    }
    ChainOp op{block, {}, node->output_type(0)};
    for (const Output& in : node->inputs()) op.args.push_back(registers.at(layout_.value_of(in)));
    int mine = int(types.size() + ops.size());
    registers[layout_.value_of(*node, 0)] = mine;
    ops.push_back(std::move(op));
    if (layout_.values[size_t(layout_.value_of(*node, 0))].storage != Storage::kNone) {
      keep.push_back(mine);
      ready.chain_outputs.push_back(&values_[size_t(layout_.value_of(*node, 0))]);
    }
  }
  ready.chain =
      std::make_unique<ElementwiseChain>(std::move(ops), std::move(types), std::move(keep));
  const Value& last = layout_.values[size_t(layout_.value_of(*action.nodes.back(), 0))];
  if (last.storage == Storage::kArena) {
    ready.bound = ready.chain->bind(shapes, last.shape);
  } else {
    CAPSTAN_CHECK(action.nodes.size() == 1);
  }
}

void Frame::set_inputs(std::span<const Tensor> inputs, Cancellation& cancellation) {
  run_.cancellation = &cancellation;
  for (size_t i = 0; i < inputs.size(); ++i) *arguments_[i] = inputs[i];
  renew_outputs();
}

size_t Frame::run(size_t from, size_t to) {
  size_t i = from;
  to = std::min(to, ready_.size());
  try {
    for (; i < to && ready_[i].kind != Action::Kind::kBlocking; ++i) run_ready(ready_[i]);
  } catch (...) {
    throw current_error().at_op(ready_[i].node->name());
  }
  return i;
}

void Frame::run_ready(ReadyAction& ready) {
  switch (ready.kind) {
    case Action::Kind::kKernel: return ready.kernel(*ready.context);
    case Action::Kind::kChain: return run_chain(ready);
    case Action::Kind::kRead:
    case Action::Kind::kSharedRead:
    case Action::Kind::kCopyRead: return run_read(ready);
    case Action::Kind::kBlocking: return;
  }
}

void Frame::run_chain(ReadyAction& ready) {
  if (ready.bound) return ready.bound->run(ready.chain_inputs, ready.chain_outputs, task_->pool);
  // Not bound: a single node, which brings its own memory.
  const Shape shape = elementwise_shape(*ready.node, ready.chain_inputs);
  const Shape& foreseen = layout_.values[size_t(layout_.value_of(*ready.node, 0))].shape;
  if (foreseen.fully_defined() && !(foreseen == shape))
    throw unforeseen_shape(*ready.node, 0, shape, foreseen);
  *ready.chain_outputs[0] = Tensor(ready.node->output_type(0), shape);
  ready.chain->run(ready.chain_inputs, shape, ready.chain_outputs, task_->pool);
}

void Frame::run_read(ReadyAction& ready) {
  const Variable& variable = ready.context->variable(0);
  bool shared = ready.kind == Action::Kind::kSharedRead;
  std::optional<VariableLoan> loan = shared ? variable.borrow() : std::nullopt;
  Tensor live = loan ? loan->value() : variable.value();
  const Shape& foreseen = layout_.values[size_t(layout_.value_of(*ready.node, 0))].shape;
  if (foreseen.fully_defined() && !(foreseen == live.shape())) {
    throw failed_precondition(
        "variable '{}' took a value of shape {}, where its node says {}, while a step was about to "
        "read it: let one of the two wait for the other",
        variable.name(), live.shape(), foreseen);
  }
  if (loan)
    run_.loans.push_back(std::move(*loan));
  else if (ready.kind != Action::Kind::kRead)
    return copy_read(ready, live);
  ready.context->set_out(0, std::move(live));
}

void Frame::copy_read(ReadyAction& ready, const Tensor& live) {
  Tensor copy(live.dtype(), live.shape());
  copy_shared(live, copy);
  ready.context->set_out(0, std::move(copy));
}

void Frame::start_blocking(size_t position, std::function<void(const Error*)> finish) {
  ReadyAction& ready = ready_[position];
  ContextBuilder(*ready.context).on_finish(std::move(finish));
  try {
    start_checked(*ready.context);
  } catch (...) {
    Error error = current_error().at_op(ready.node->name());
    ready.context->fail(error);
  }
}

std::vector<Tensor> Frame::outputs() const {
  std::vector<Tensor> out;
  out.reserve(outputs_.size());
  for (const Tensor* t : outputs_) out.push_back(*t);
  return out;
}

void Frame::clear() {
  run_.loans.clear();
  for (Tensor* t : borrowed_) *t = Tensor();
  for (const ForeignOutput& f : foreign_) {
    values_[f.root] = Tensor();
    for (size_t alias : f.aliases) values_[alias] = Tensor();
  }
}

}  // namespace capstan
