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
  units_.reserve(layout.steps.size());
  for (const Step& step : layout.steps) make_unit(step, states);
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

void Frame::make_unit(const Step& step, std::span<const std::shared_ptr<void>> states) {
  Unit unit;
  unit.kind = step.kind;
  unit.node = step.nodes[0];
  if (step.kind == Step::Kind::kChain) {
    make_chain(unit, step);
  } else {
    make_context(unit, *step.nodes[0], states[size_t(step.nodes[0]->id())]);
  }
  units_.push_back(std::move(unit));
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

void Frame::make_context(Unit& unit, const Node& node, std::shared_ptr<void> state) {
  contexts_.push_back(std::make_unique<KernelContext>());
  unit.context = contexts_.back().get();
  unit.kernel = ranks_are_known(node) ? node.def().kernel : run_checked;
  ContextBuilder builder(*unit.context);
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

void Frame::make_chain(Unit& unit, const Step& step) {
  std::vector<ChainOp> ops;
  std::vector<DType> types;
  std::vector<int> keep;
  std::vector<const Shape*> shapes;
  std::map<int, int> registers;  // value -> register
  for (const Node* node : step.nodes) {
    for (const Output& in : node->inputs()) {
      int number = layout_.value_of(in);
      bool inner = false;
      for (const Node* other : step.nodes) inner |= other == in.node;
      if (inner || registers.count(number)) continue;
      registers[number] = int(types.size());
      types.push_back(in.dtype());
      shapes.push_back(&layout_.values[size_t(number)].shape);
      unit.chain_inputs.push_back(tensor(in));
    }
  }
  for (const Node* node : step.nodes) {
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
      unit.chain_outputs.push_back(&values_[size_t(layout_.value_of(*node, 0))]);
    }
  }
  unit.chain =
      std::make_unique<ElementwiseChain>(std::move(ops), std::move(types), std::move(keep));
  const Value& last = layout_.values[size_t(layout_.value_of(*step.nodes.back(), 0))];
  if (last.storage == Storage::kArena) {
    unit.bound = unit.chain->bind(shapes, last.shape);
  } else {
    CAPSTAN_CHECK(step.nodes.size() == 1);
  }
}

void Frame::set_inputs(std::span<const Tensor> inputs, Cancellation& cancellation) {
  run_.cancellation = &cancellation;
  for (size_t i = 0; i < inputs.size(); ++i) *arguments_[i] = inputs[i];
  renew_outputs();
}

size_t Frame::run(size_t from, size_t to) {
  size_t i = from;
  to = std::min(to, units_.size());
  try {
    for (; i < to && units_[i].kind != Step::Kind::kBlocking; ++i) run_unit(units_[i]);
  } catch (...) {
    throw current_error().at_op(units_[i].node->name());
  }
  return i;
}

void Frame::run_unit(Unit& unit) {
  switch (unit.kind) {
    case Step::Kind::kKernel: return unit.kernel(*unit.context);
    case Step::Kind::kChain: return run_chain(unit);
    case Step::Kind::kRead:
    case Step::Kind::kSharedRead:
    case Step::Kind::kCopyRead: return run_read(unit);
    case Step::Kind::kBlocking: return;
  }
}

void Frame::run_chain(Unit& unit) {
  if (unit.bound) return unit.bound->run(unit.chain_inputs, unit.chain_outputs, task_->pool);
  // Not bound: a single node, which brings its own memory.
  const Shape shape = elementwise_shape(*unit.node, unit.chain_inputs);
  const Shape& foreseen = layout_.values[size_t(layout_.value_of(*unit.node, 0))].shape;
  if (foreseen.fully_defined() && !(foreseen == shape))
    throw unforeseen_shape(*unit.node, 0, shape, foreseen);
  *unit.chain_outputs[0] = Tensor(unit.node->output_type(0), shape);
  unit.chain->run(unit.chain_inputs, shape, unit.chain_outputs, task_->pool);
}

void Frame::run_read(Unit& unit) {
  const Variable& variable = unit.context->variable(0);
  bool shared = unit.kind == Step::Kind::kSharedRead;
  std::optional<VariableLoan> loan = shared ? variable.borrow() : std::nullopt;
  Tensor live = loan ? loan->value() : variable.value();
  const Shape& foreseen = layout_.values[size_t(layout_.value_of(*unit.node, 0))].shape;
  if (foreseen.fully_defined() && !(foreseen == live.shape())) {
    throw failed_precondition(
        "variable '{}' took a value of shape {}, where its node says {}, while a step was about to "
        "read it: let one of the two wait for the other",
        variable.name(), live.shape(), foreseen);
  }
  if (loan)
    run_.loans.push_back(std::move(*loan));
  else if (unit.kind != Step::Kind::kRead)
    return copy_read(unit, live);
  unit.context->set_out(0, std::move(live));
}

void Frame::copy_read(Unit& unit, const Tensor& live) {
  Tensor copy(live.dtype(), live.shape());
  copy_shared(live, copy);
  unit.context->set_out(0, std::move(copy));
}

void Frame::start_blocking(size_t position, std::function<void(const Error*)> finish) {
  Unit& unit = units_[position];
  ContextBuilder(*unit.context).on_finish(std::move(finish));
  try {
    start_checked(*unit.context);
  } catch (...) {
    Error error = current_error().at_op(unit.node->name());
    unit.context->fail(error);
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
