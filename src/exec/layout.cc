#include "exec/layout.h"

#include <algorithm>
#include <set>

#include "exec/place.h"
#include "graph/shape_context.h"

namespace capstan {

const Node* variable_input(const Node& node, int i) {
  const Node* from = node.input(i).node;
  return from->def().variable ? from : nullptr;
}

bool is_read(const Node& node) { return node.op() == "Identity" && variable_input(node, 0); }

namespace {

constexpr size_t kLargestFolded = 64 << 10;

// Whether a write of this piece may give a variable another shape than its node declares.
bool reshapes_variables(const Piece& piece) {
  for (int id = 0; id < piece.graph->size(); ++id) {
    const Node& node = piece.graph->node(id);
    if (node.op() != "Assign" || node.attrs().get<bool>("validate_shape")) continue;
    const Shape& declared = node.input(0).shape();
    if (declared.fully_defined() && !(declared == node.input(1).shape())) return true;
  }
  return false;
}

class LayoutMaker {
 public:
  LayoutMaker(const Piece& piece, std::vector<Shape> inputs, RunContext& run,
              const ProgramOptions& options)
      : piece_(piece), run_(run), options_(options), layout_(std::make_unique<Layout>()) {
    layout_->inputs = std::move(inputs);
    layout_->reshaped = run.task->variables.reshaped() || reshapes_variables(piece);
    number_values();
  }

  std::unique_ptr<Layout> make() {
    for (int id = 0; id < piece_.graph->size(); ++id) visit(piece_.graph->node(id));
    mark_outputs();
    if (options_.fuse) fuse();
    find_lifetimes();
    choose_reads();
    place_in_arena(*layout_, options_.in_place);
    return std::move(layout_);
  }

 private:
  Value& value(Output o) { return layout_->values[size_t(layout_->value_of(o))]; }
  Value& value(const Node& n, int i) { return layout_->values[size_t(layout_->value_of(n, i))]; }

  void number_values() {
    for (int id = 0; id < piece_.graph->size(); ++id) {
      const Node& node = piece_.graph->node(id);
      layout_->first_value.push_back(int(layout_->values.size()));
      for (int i = 0; i < node.outputs(); ++i) {
        Value v;
        v.dtype = node.output_type(i);
        v.root = int(layout_->values.size());
        layout_->values.push_back(std::move(v));
      }
    }
  }

  void visit(const Node& node) {
    if (node.def().variable) return;
    if (node.op() == "_Arg") return visit_argument(node);
    if (node.def().constant)
      return make_constant(value(node, 0), node.attrs().get<Tensor>("value"));
    infer(node);
    if (fold(node) || forward(node)) return;
    layout_->actions.push_back({kind_of(node), {&node}});
    for (int i = 0; i < node.outputs(); ++i) {
      value(node, i).storage = has_place(node, i) ? Storage::kArena : Storage::kDynamic;
    }
  }

  // Whether output i is laid out, which then binds the kernel.
  bool has_place(const Node& node, int i) {
    const Value& v = value(node, i);
    const bool own = i > 0 || !hands_on(node);
    return own && v.shape.fully_defined() && v.dtype != DType::kString && dtype_size(v.dtype) > 0 &&
           !node.def().blocking && (!node.def().block || inputs_defined(node));
  }

  // An element-wise action of known result whose operands are not all known (one may still turn out
  // to be of size one) is not bound beforehand.
  bool inputs_defined(const Node& node) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (!input_shape(node, int(i)).fully_defined()) return false;
    }
    return true;
  }

  // Output 0 is input 0's tensor, when the kernel runs.
  static bool hands_on(const Node& node) { return node.def().forwards || node.def().hands_on; }

  static Action::Kind kind_of(const Node& node) {
    if (is_read(node)) return Action::Kind::kRead;
    if (node.def().block) return Action::Kind::kChain;
    return node.def().blocking ? Action::Kind::kBlocking : Action::Kind::kKernel;
  }

  void visit_argument(const Node& node) {
    size_t index = size_t(node.attrs().get<int64_t>("index"));
    Value& v = value(node, 0);
    v.storage = Storage::kArgument;
    v.shape = layout_->inputs[index];
  }

  void make_constant(Value& v, Tensor t) {
    v.storage = Storage::kConstant;
    v.shape = t.shape();
    v.constant = std::move(t);
  }

  Shape input_shape(const Node& node, int i) {
    const Node* variable = variable_input(node, i);
    if (!variable) return value(node.input(i)).shape;
    return layout_->reshaped ? Shape::unknown() : variable->output_shape(0);
  }

  const Tensor* constant_input(const Node& node, int i) {
    if (variable_input(node, i)) return nullptr;
    const Value& v = value(node.input(i));
    return v.storage == Storage::kConstant ? &v.constant : nullptr;
  }

  void infer(const Node& node) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < node.inputs().size(); ++i) shapes.push_back(input_shape(node, int(i)));
    ShapeContext context(node, std::move(shapes), [&](int i) { return constant_input(node, i); });
    try {
      infer_shapes(context);
    } catch (const Error& e) {
      throw e.at_op(node.name());
    }
    for (int i = 0; i < node.outputs(); ++i) {
      value(node, i).shape = context.outputs()[size_t(i)];
    }
    // A default may be known better than what might have been fed in its stead.
    if (node.def().hands_on && input_shape(node, 0).fully_defined())
      value(node, 0).shape = input_shape(node, 0);
  }

  // Runs a pure node now when all that it looks at is known and the result is small.
  bool fold(const Node& node) {
    if (!options_.fold || node.def().stateful || node.def().writes || node.def().blocking ||
        node.outputs() == 0 || node.inputs().empty()) {
      return false;
    }
    bool shapes_only = node.def().from_shapes;
    std::vector<KernelInput> inputs;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Tensor* known = constant_input(node, int(i));
      if (known) {
        inputs.push_back({*known, nullptr});
      } else if (shapes_only && input_shape(node, int(i)).fully_defined()) {
        // The kernel looks at the shape alone, so there need be no bytes.
        inputs.push_back(
            {Tensor(node.input(int(i)).dtype(), input_shape(node, int(i)), nullptr, nullptr),
             nullptr});
      } else {
        return false;
      }
    }
    for (int i = 0; i < node.outputs(); ++i) {
      const Shape& shape = value(node, i).shape;
      if (shape.fully_defined() &&
          size_t(shape.elements()) * dtype_size(node.output_type(i)) > kLargestFolded)
        return false;
    }
    std::vector<Tensor> results = run_kernel(node, std::move(inputs), run_);
    for (int i = 0; i < node.outputs(); ++i)
      make_constant(value(node, i), std::move(results[size_t(i)]));
    return true;
  }

  // Ops that only hand on bytes cost nothing when those lie still.
  bool forward(const Node& node) {
    if (!node.def().forwards || variable_input(node, 0)) return false;
    const Value& from = value(node.input(0));
    Value& v = value(node, 0);
    bool still = from.storage == Storage::kArena || from.storage == Storage::kAlias;
    if (!still || !v.shape.fully_defined() || v.shape.elements() != from.shape.elements())
      return false;
    v.storage = Storage::kAlias;
    v.root = from.root;
    return true;
  }

  void mark_outputs() {
    for (size_t i = 0; i < piece_.outputs.size(); ++i) {
      Value& v = value(piece_.outputs[i]);
      if (v.output < 0) v.output = int(i);
      layout_->values[size_t(v.root)].aliased_output = true;
    }
  }

  // Joins an element-wise action to the one that alone uses its value, where both have one shape
  // and no write lies between: the value then never leaves a tile.
  void fuse() {
    std::vector<Action>& actions = layout_->actions;
    std::vector<std::set<int>> users(layout_->values.size());
    std::vector<int> writes_up_to(actions.size() + 1, 0);
    for (size_t s = 0; s < actions.size(); ++s) {
      const Node& node = *actions[s].nodes[0];
      writes_up_to[s + 1] = writes_up_to[s] + (node.def().writes != 0);
      for (size_t i = 0; i < node.inputs().size(); ++i) {
        if (!variable_input(node, int(i)))
          users[size_t(layout_->value_of(node.input(int(i))))].insert(int(s));
      }
    }
    for (const Value& v : layout_->values) {
      // Bytes that others see under another shape stay where they are.
      if (v.storage == Storage::kAlias) users[size_t(v.root)].insert(-1);
    }
    for (size_t s = 0; s < actions.size(); ++s) join_to_user(int(s), users, writes_up_to);
    std::erase_if(actions, [](const Action& action) { return action.nodes.empty(); });
  }

  void join_to_user(int s, std::vector<std::set<int>>& users,
                    const std::vector<int>& writes_up_to) {
    constexpr size_t kLongest = 32;
    Action& action = layout_->actions[size_t(s)];
    if (action.kind != Action::Kind::kChain) return;
    int number = layout_->value_of(*action.nodes.back(), 0);
    Value& v = layout_->values[size_t(number)];
    if (v.storage != Storage::kArena || v.aliased_output || users[size_t(number)].size() != 1)
      return;
    int t = *users[size_t(number)].begin();
    if (t < 0) return;
    Action& user = layout_->actions[size_t(t)];
    if (user.kind != Action::Kind::kChain || user.nodes.size() + action.nodes.size() > kLongest)
      return;
    const Value& result = value(*user.nodes.back(), 0);
    bool one_shape = result.storage == Storage::kArena && result.shape == v.shape;
    if (!one_shape || writes_up_to[size_t(t)] != writes_up_to[size_t(s)]) return;
    for (const Node* node : action.nodes) {
      for (const Output& in : node->inputs()) {
        auto& list = users[size_t(layout_->value_of(in))];
        if (list.erase(s)) list.insert(t);
      }
    }
    user.nodes.insert(user.nodes.begin(), action.nodes.begin(), action.nodes.end());
    action.nodes.clear();
    v.storage = Storage::kNone;
  }

  void use(int number, int position) {
    Value& root = layout_->values[size_t(layout_->values[size_t(number)].root)];
    root.last = std::max(root.last, position);
  }

  void find_lifetimes() {
    const auto& actions = layout_->actions;
    for (size_t s = 0; s < actions.size(); ++s) {
      for (const Node* node : actions[s].nodes) {
        for (int i = 0; i < node->outputs(); ++i) {
          Value& v = value(*node, i);
          if (v.first < 0) v.first = v.last = int(s);
        }
        for (size_t i = 0; i < node->inputs().size(); ++i) {
          if (!variable_input(*node, int(i))) use(layout_->value_of(node->input(int(i))), int(s));
        }
      }
    }
    follow_dynamic_aliases();
    for (Value& v : layout_->values) {
      if (v.aliased_output) v.last = int(actions.size());
    }
  }

  // Whoever uses the output of a kernel that hands on its input's tensor uses the input's bytes.
  // Calls f(root of the input, root of the output) for each, the last action first.
  template <class F>
  void for_handed_on(F&& f) {
    for (auto it = layout_->actions.rbegin(); it != layout_->actions.rend(); ++it) {
      const Node& node = *it->nodes[0];
      if (!hands_on(node) || variable_input(node, 0)) continue;
      f(value(node.input(0)).root, value(node, 0).root);
    }
  }

  void follow_dynamic_aliases() {
    for_handed_on([&](int from, int to) {
      Value& root = layout_->values[size_t(from)];
      const Value& out = layout_->values[size_t(to)];
      root.last = std::max(root.last, out.last);
      root.aliased_output |= out.aliased_output;
    });
  }

  // A read shares the live bytes unless a later write could be seen through it. Where several
  // actions look at them, they are borrowed: all are to see the same. So are integers that a kernel
  // takes: they name places or sizes, and what was checked must be what is used. A loan ends with
  // the run: integers for a later part of the step are copied.
  void choose_reads() {
    std::vector<Takers> takers_of = takers_of_roots();
    std::set<int> later;
    for (int o : options_.taken_later) later.insert(value(piece_.outputs[size_t(o)]).root);
    for_handed_on([&](int from, int to) {
      if (later.contains(to)) later.insert(from);
    });
    for (size_t s = 0; s < layout_->actions.size(); ++s) {
      Action& action = layout_->actions[s];
      if (action.kind != Action::Kind::kRead) continue;
      const Node* variable = variable_input(*action.nodes[0], 0);
      int last = value(*action.nodes[0], 0).last;
      for (size_t w = s + 1; w < layout_->actions.size() && int(w) < last; ++w) {
        if (writes(*layout_->actions[w].nodes[0], *variable)) action.kind = Action::Kind::kCopyRead;
      }
      const Value& read = value(*action.nodes[0], 0);
      const Takers& takers = takers_of[size_t(read.root)];
      bool shared = takers.several || (is_integer(read.dtype) && takers.kernel);
      if (shared && action.kind == Action::Kind::kRead) action.kind = Action::Kind::kSharedRead;
      if (is_integer(read.dtype) && later.contains(read.root))
        action.kind = Action::Kind::kCopyRead;
    }
  }

  // The actions that take a root's bytes, the caller among them: as much of them as reads ask for.
  // The actions themselves, handed on along a chain, would be the square of its length.
  struct Takers {
    int first = -1;
    bool several = false, kernel = false;

    void add(int action, bool is_kernel) {
      several |= first >= 0 && first != action;
      if (first < 0) first = action;
      kernel |= is_kernel;
    }
    void add(const Takers& others) {
      if (others.first < 0) return;
      several |= others.several;
      add(others.first, others.kernel);
    }
  };

  std::vector<Takers> takers_of_roots() {
    std::vector<Takers> takers(layout_->values.size());
    for (size_t s = 0; s < layout_->actions.size(); ++s) {
      const bool is_kernel = layout_->actions[s].kind != Action::Kind::kChain;
      for (const Node* node : layout_->actions[s].nodes) {
        for (const Output& in : node->inputs())
          takers[size_t(value(in).root)].add(int(s), is_kernel);
      }
    }
    for (const Output& o : piece_.outputs)
      takers[size_t(value(o).root)].add(int(layout_->actions.size()), false);
    for_handed_on([&](int from, int to) { takers[size_t(from)].add(Takers(takers[size_t(to)])); });
    return takers;
  }

  static bool writes(const Node& node, const Node& variable) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (node.def().writes_input(i) && node.input(int(i)).node == &variable) return true;
    }
    return false;
  }

  const Piece& piece_;
  RunContext& run_;
  const ProgramOptions& options_;
  std::unique_ptr<Layout> layout_;
};

}  // namespace

std::unique_ptr<Layout> make_layout(const Piece& piece, std::vector<Shape> inputs, RunContext& run,
                                    const ProgramOptions& options) {
  return LayoutMaker(piece, std::move(inputs), run, options).make();
}

}  // namespace capstan
