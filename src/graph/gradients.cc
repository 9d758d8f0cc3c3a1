#include "graph/gradients.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "graph/gating.h"

namespace capstan {
namespace {

bool is_trainable(DType dtype) {
  return is_floating(dtype) || dtype == DType::kComplex64 || dtype == DType::kResource;
}

Tensor one_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat: return Tensor::scalar(1.0f);
    case DType::kDouble: return Tensor::scalar(1.0);
    case DType::kInt32: return Tensor::scalar(int32_t(1));
    case DType::kInt64: return Tensor::scalar(int64_t(1));
    case DType::kUInt8: return Tensor::scalar(uint8_t(1));
    case DType::kInt8: return Tensor::scalar(int8_t(1));
    case DType::kInt16: return Tensor::scalar(int16_t(1));
    case DType::kUInt16: return Tensor::scalar(uint16_t(1));
    case DType::kBool: return Tensor::scalar(true);
    case DType::kHalf: {
      Tensor half(DType::kHalf, Shape{});
      *half.data<uint16_t>() = 0x3c00;
      return half;
    }
    default:
      throw invalid_argument("a value of type {} has no gradient of ones; give grad_ys",
                             dtype_name(dtype));
  }
}

// The nodes between xs and ys, and for each how many gradients it waits for.
struct Paths {
  std::unordered_set<const Node*> reachable_ys;  // the nodes of ys that depend on an x
  std::unordered_map<const Node*, int> pending;
};

using Consumers = std::unordered_map<const Node*, std::vector<Node*>>;

// Consumers of outputs that a gradient can flow through.
Consumers trainable_consumers(const Graph& graph) {
  Consumers consumers;
  for (int id = 0; id < graph.size(); ++id) {
    Node& node = graph.node(id);
    for (const Output& input : node.inputs()) {
      if (is_trainable(input.dtype())) consumers[input.node].push_back(&node);
    }
  }
  return consumers;
}

std::unordered_set<const Node*> reached_from(const Graph& graph, std::span<const Output> xs) {
  Consumers consumers = trainable_consumers(graph);
  std::unordered_set<const Node*> reached;
  std::deque<const Node*> queue;
  for (const Output& x : xs) queue.push_back(x.node);
  for (; !queue.empty(); queue.pop_front()) {
    if (!reached.insert(queue.front()).second) continue;
    auto it = consumers.find(queue.front());
    if (it == consumers.end()) continue;
    for (const Node* consumer : it->second) queue.push_back(consumer);
  }
  return reached;
}

Paths find_paths(const Graph& graph, std::span<const Output> ys, std::span<const Output> xs) {
  std::unordered_set<const Node*> reached = reached_from(graph, xs);
  Paths paths;
  std::deque<const Node*> queue;
  for (const Output& y : ys) {
    if (reached.contains(y.node)) paths.reachable_ys.insert(y.node);
    queue.push_back(y.node);
  }
  std::unordered_set<const Node*> between;
  for (; !queue.empty(); queue.pop_front()) {
    if (!reached.contains(queue.front()) || !between.insert(queue.front()).second) continue;
    for (const Output& input : queue.front()->inputs()) queue.push_back(input.node);
  }
  for (const Node* node : between) {
    for (const Output& input : node->inputs()) {
      if (between.contains(input.node)) ++paths.pending[input.node];
    }
  }
  return paths;
}

class Differentiator {
 public:
  Differentiator(Graph& graph, std::span<const Output> ys, std::span<const Output> xs,
                 const GradientOptions& options)
      : graph_(graph), ys_(ys), xs_(xs), options_(options) {}

  std::vector<Output> run() {
    ScopeGuard scope = graph_.name_scope(options_.name);
    // TensorFlow takes this name to tell its calls apart; later names depend on it.
    graph_.unique_name("uid");
    std::vector<Output> initial = initial_gradients();
    paths_ = find_paths(graph_, ys_, xs_);
    for (size_t i = 0; i < ys_.size(); ++i) receive(ys_[i], initial[i]);
    enqueue_ys();
    find_stops();
    for (; !queue_.empty(); queue_.pop_front()) visit(*queue_.front());
    std::vector<Output> result;
    for (const Output& x : xs_) result.push_back(total(x));
    return result;
  }

 private:
  // Gradients that arrived at each output of a node; one each once the node was visited.
  using Received = std::vector<std::vector<Output>>;

  ScopeGuard colocated_with(Node& node) {
    return options_.colocate_with_ops ? graph_.colocate_with(&node) : ScopeGuard();
  }

  std::vector<Output> initial_gradients() {
    std::vector<Output> out;
    for (size_t i = 0; i < ys_.size(); ++i) {
      ScopeGuard colocation = colocated_with(*ys_[i].node);
      Output given = options_.grad_ys.empty() ? Output() : options_.grad_ys[i];
      std::string name = fmt::format("grad_ys_{}", i);
      out.push_back(given ? graph_.add("Identity", {given}, {}, name) : ones_like(ys_[i], name));
    }
    return out;
  }

  Output ones_like(Output y, const std::string& name) {
    Tensor one = one_of(y.dtype());
    Output shape = shape_of(y);
    ScopeGuard scope = graph_.name_scope(name);
    std::string fill_name = graph_.current_scope() + "/";
    return graph_.add("Fill", {shape, graph_.constant(std::move(one))}, {}, fill_name);
  }

  Output shape_of(Output y) {
    const Shape& shape = y.shape();
    if (!shape.fully_defined()) return graph_.add("Shape", {y}, {{"out_type", DType::kInt32}});
    Tensor dims(DType::kInt32, {shape.rank()});
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] > INT32_MAX)
        throw invalid_argument("'{}' of shape {} is too large", y.name(), shape);
      dims.data<int32_t>()[i] = int32_t(shape[i]);
    }
    return graph_.constant(std::move(dims), "Shape");
  }

  void receive(Output value, Output gradient) {
    Received& received = received_[value.node];
    if (received.empty()) received.resize(size_t(value.node->outputs()));
    received[size_t(value.index)].push_back(gradient);
  }

  Output total(Output x) const {
    auto it = received_.find(x.node);
    if (it == received_.end() || it->second[size_t(x.index)].empty()) return {};
    return it->second[size_t(x.index)].front();
  }

  void enqueue_ys() {
    std::unordered_set<const Node*> queued;
    for (const Output& y : ys_) {
      bool ready = paths_.pending[y.node] == 0 && paths_.reachable_ys.contains(y.node);
      if (ready && queued.insert(y.node).second) queue_.push_back(y.node);
    }
  }

  // Nodes that are not differentiated: xs that depend on no other x, and what the caller stops at.
  void find_stops() {
    for (const Output& x : xs_) {
      auto pending = [&](const Output& input) { return paths_.pending[input.node] > 0; };
      const auto& inputs = x.node->inputs();
      if (std::none_of(inputs.begin(), inputs.end(), pending)) stops_.insert(x.node);
    }
    for (const Output& stop : options_.stop) stops_.insert(stop.node);
  }

  void visit(Node& node) {
    {
      ScopeGuard colocation = colocated_with(node);
      std::vector<Output> dys = aggregated(node);
      bool any = std::any_of(dys.begin(), dys.end(), [](const Output& dy) { return bool(dy); });
      if (any && !stops_.contains(&node) && has_gradient(node)) differentiate(node, std::move(dys));
    }
    for (const Output& input : node.inputs()) {
      if (--paths_.pending[input.node] == 0) queue_.push_back(input.node);
    }
  }

  static bool has_gradient(const Node& node) {
    if (node.def().no_gradient) return false;
    if (node.def().gradient) return true;
    throw unimplemented(
        "no gradient is defined for the op {} (node '{}'); if the node should count as a "
        "constant, put a stop_gradient after it",
        node.op(), node.name());
  }

  std::vector<Output> aggregated(Node& node) {
    Received& received = received_[&node];
    received.resize(size_t(node.outputs()));
    std::vector<Output> sums;
    for (auto& gradients : received) {
      if (gradients.size() > 1) gradients = {sum(node, gradients)};
      sums.push_back(gradients.empty() ? Output() : gradients.front());
    }
    return sums;
  }

  Output sum(const Node& node, const std::vector<Output>& gradients) {
    if (options_.aggregation == Aggregation::kAddN) return sum_by_device(gradients);
    ScopeGuard scope = graph_.name_scope(node.name() + "_gradient_sum");
    Output running = gradients.front();
    for (size_t i = 1; i < gradients.size(); ++i) running = add_n({running, gradients[i]});
    return running;
  }

  // First on each device, in the order of their names, then across devices.
  Output sum_by_device(const std::vector<Output>& gradients) {
    std::map<std::string, std::vector<Output>> by_device;
    for (const Output& gradient : gradients) by_device[gradient.node->device()].push_back(gradient);
    std::vector<Output> sums;
    for (const auto& [device, there] : by_device) {
      ScopeGuard colocation = graph_.colocate_with(there.front().node, true);
      sums.push_back(add_n(there));
    }
    return add_n(sums);
  }

  Output add_n(const std::vector<Output>& terms) {
    return terms.size() == 1 ? terms.front() : graph_.add("AddN", std::span<const Output>(terms));
  }

  void differentiate(Node& node, std::vector<Output> dys) {
    for (int i = 0; i < node.outputs(); ++i) {
      bool missing = !dys[size_t(i)] && is_trainable(node.output_type(i));
      if (missing && node.output_type(i) != DType::kResource)
        dys[size_t(i)] = zeros_like(node.output(i));
    }
    std::vector<Output> gradients = call_gradient(node, std::move(dys));
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i]) give(node, int(i), gradients[i]);
    }
  }

  Output zeros_like(Output value) {
    ScopeGuard scope = graph_.name_scope("zeros_like");
    return graph_.add("ZerosLike", {value}, {}, graph_.current_scope() + "/");
  }

  std::vector<Output> call_gradient(Node& node, std::vector<Output> dys) {
    ScopeGuard scope = graph_.name_scope(node.name() + "_grad");
    GradContext context(graph_, node, std::move(dys));
    std::vector<Output> gradients = node.def().gradient(context);
    if (gradients.size() != node.inputs().size()) {
      throw internal_error("the gradient of {} gave {} values for {} inputs", node.op(),
                           gradients.size(), node.inputs().size());
    }
    auto count =
        std::count_if(gradients.begin(), gradients.end(), [](const Output& g) { return bool(g); });
    if (!options_.gate || count < 2) return gradients;
    ScopeGuard unplaced = graph_.no_device();
    ScopeGuard uncolocated = graph_.colocate_with(nullptr, true);
    return tuple(graph_, gradients);
  }

  void give(const Node& node, int i, Output gradient) {
    const Output& input = node.input(i);
    if (input.dtype() != DType::kResource) {
      if (!gradient.shape().compatible_with(input.shape())) {
        throw invalid_argument(
            "the gradient of {} '{}' for its input {} has shape {}, but the input has {}",
            node.op(), node.name(), i, gradient.shape(), input.shape());
      }
      graph_.set_shape(gradient, input.shape());
    }
    receive(input, gradient);
  }

  Graph& graph_;
  std::span<const Output> ys_, xs_;
  const GradientOptions& options_;
  Paths paths_;
  std::unordered_set<const Node*> stops_;
  std::unordered_map<const Node*, Received> received_;
  std::deque<Node*> queue_;
};

void check_arguments(std::span<const Output> ys, std::span<const Output> xs,
                     const GradientOptions& options) {
  auto missing = [](const Output& value) { return !value; };
  if (std::any_of(ys.begin(), ys.end(), missing) || std::any_of(xs.begin(), xs.end(), missing)) {
    throw invalid_argument("gradients() was given a value that does not exist");
  }
  if (!options.grad_ys.empty() && options.grad_ys.size() != ys.size()) {
    throw invalid_argument("{} grad_ys were given for {} ys", options.grad_ys.size(), ys.size());
  }
  for (size_t i = 0; i < options.grad_ys.size(); ++i) {
    const Output& given = options.grad_ys[i];
    if (given && is_trainable(ys[i].dtype()) && !is_floating(given.dtype()) &&
        !is_integer(given.dtype()) && given.dtype() != ys[i].dtype()) {
      throw invalid_argument("the gradient '{}' of type {} does not go with '{}' of type {}",
                             given.name(), dtype_name(given.dtype()), ys[i].name(),
                             dtype_name(ys[i].dtype()));
    }
  }
}

}  // namespace

std::vector<Output> gradients(Graph& graph, std::span<const Output> ys, std::span<const Output> xs,
                              const GradientOptions& options) {
  check_arguments(ys, xs, options);
  return Differentiator(graph, ys, xs, options).run();
}

}  // namespace capstan
