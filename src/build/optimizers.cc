// The optimizers themselves: which slots they keep and which op applies a gradient.

#include <algorithm>

#include "build/basics.h"
#include "build/optimizer.h"

namespace capstan {
namespace {

class GradientDescent : public Optimizer {
 public:
  GradientDescent(Hyper rate, bool locking, std::string name)
      : Optimizer(std::move(name), locking), rate_(rate) {}

  void prepare(Graph& graph) override {
    rate_tensor_ = as_tensor(graph, rate_, DType::kFloat, "learning_rate");
  }

  Node* apply_dense(Graph& graph, Output gradient, const VariableRef& variable) override {
    Output rate = cast_to(rate_tensor_, variable.dtype());
    return graph
        .add("ApplyGradientDescent", {variable.ref, rate, gradient},
             {{"use_locking", use_locking()}})
        .node;
  }

 private:
  const Hyper rate_;
  Output rate_tensor_;
};

class Momentum : public Optimizer {
 public:
  Momentum(Hyper rate, Hyper momentum, bool locking, std::string name, bool nesterov)
      : Optimizer(std::move(name), locking),
        rate_(rate),
        momentum_(momentum),
        nesterov_(nesterov) {}

  void create_slots(Graph& graph, std::span<const VariableRef> variables) override {
    for (const VariableRef& v : variables) zeros_slot(graph, v, "momentum", name());
  }

  void prepare(Graph& graph) override {
    rate_tensor_ = as_tensor(graph, rate_, DType::kFloat, "learning_rate");
    momentum_tensor_ = as_tensor(graph, momentum_, DType::kFloat, "momentum");
  }

  Node* apply_dense(Graph& graph, Output gradient, const VariableRef& variable) override {
    const VariableRef& mom = *slot("momentum", variable);
    Output rate = cast_to(rate_tensor_, variable.dtype());
    Output momentum = cast_to(momentum_tensor_, variable.dtype());
    return graph
        .add("ApplyMomentum", {variable.ref, mom.ref, rate, gradient, momentum},
             {{"use_locking", use_locking()}, {"use_nesterov", nesterov_}})
        .node;
  }

 private:
  const Hyper rate_, momentum_;
  const bool nesterov_;
  Output rate_tensor_, momentum_tensor_;
};

class Adagrad : public Optimizer {
 public:
  Adagrad(Hyper rate, double initial, bool locking, std::string name)
      : Optimizer(std::move(name), locking), rate_(rate), initial_(initial) {}

  void create_slots(Graph& graph, std::span<const VariableRef> variables) override {
    for (const VariableRef& v : variables) {
      if (slot("accumulator", v)) continue;
      auto initial = [&] { return graph.constant(filled(v.dtype(), v.shape(), initial_)); };
      keep_slot("accumulator", v, make_slot(graph, v, name(), initial, slot_scope()));
    }
  }

  void prepare(Graph& graph) override {
    rate_tensor_ = as_tensor(graph, rate_, DType::kFloat, "learning_rate");
  }

  Node* apply_dense(Graph& graph, Output gradient, const VariableRef& variable) override {
    const VariableRef& accumulator = *slot("accumulator", variable);
    Output rate = cast_to(rate_tensor_, variable.dtype());
    return graph
        .add("ApplyAdagrad", {variable.ref, accumulator.ref, rate, gradient},
             {{"use_locking", use_locking()}})
        .node;
  }

 private:
  const Hyper rate_;
  const double initial_;
  Output rate_tensor_;
};

class Adam : public Optimizer {
 public:
  Adam(Hyper rate, Hyper beta1, Hyper beta2, Hyper epsilon, bool locking, std::string name)
      : Optimizer(std::move(name), locking),
        rate_(rate),
        beta1_(beta1),
        beta2_(beta2),
        epsilon_(epsilon) {}

  void create_slots(Graph& graph, std::span<const VariableRef> variables) override {
    if (!beta1_power_) {
      // The powers live with the variable whose name comes first, as in TensorFlow.
      const VariableRef& first =
          *std::ranges::min_element(variables, {}, [](const VariableRef& v) { return v.name(); });
      auto with = graph.colocate_with(first.ref.node);
      beta1_power_ = keep(power(graph, beta1_, "beta1_power"));
      beta2_power_ = keep(power(graph, beta2_, "beta2_power"));
    }
    for (const VariableRef& v : variables) {
      zeros_slot(graph, v, "m", name());
      zeros_slot(graph, v, "v", name());
    }
  }

  void prepare(Graph& graph) override {
    rate_tensor_ = as_tensor(graph, rate_, DType::kFloat, "learning_rate");
    beta1_tensor_ = as_tensor(graph, beta1_, DType::kFloat, "beta1");
    beta2_tensor_ = as_tensor(graph, beta2_, DType::kFloat, "beta2");
    epsilon_tensor_ = as_tensor(graph, epsilon_, DType::kFloat, "epsilon");
  }

  Node* apply_dense(Graph& graph, Output gradient, const VariableRef& variable) override {
    DType t = variable.dtype();
    auto as = [&](Output x) { return cast_to(x, t); };
    return graph
        .add("ApplyAdam",
             {variable.ref, slot("m", variable)->ref, slot("v", variable)->ref,
              as(beta1_power_->read), as(beta2_power_->read), as(rate_tensor_), as(beta1_tensor_),
              as(beta2_tensor_), as(epsilon_tensor_), gradient},
             {{"use_locking", use_locking()}})
        .node;
  }

  Node* finish(Graph& graph, std::span<Node* const> updates, std::string_view name) override {
    std::vector<Node*> all(updates.begin(), updates.end());
    {
      auto after = graph.control_dependencies(all);
      auto with = graph.colocate_with(beta1_power_->ref.node);
      all.push_back(advance(graph, *beta1_power_, beta1_tensor_));
      all.push_back(advance(graph, *beta2_power_, beta2_tensor_));
    }
    return &group(graph, all, name);
  }

 private:
  static VariableRef power(Graph& graph, const Hyper& beta, const char* name) {
    VariableOptions options;
    options.name = name;
    if (const Output* tensor = std::get_if<Output>(&beta))
      return make_variable(
          graph, [&] { return *tensor; }, options);
    return make_variable(graph, Tensor::scalar<float>(float(std::get<double>(beta))), options);
  }

  Node* advance(Graph& graph, const VariableRef& power, Output beta) {
    Output next = graph.add("Mul", {power.read, beta}, {}, "mul");
    return graph.add("Assign", {power.ref, next}, {{"use_locking", use_locking()}}).node;
  }

  const Hyper rate_, beta1_, beta2_, epsilon_;
  std::optional<VariableRef> beta1_power_, beta2_power_;
  Output rate_tensor_, beta1_tensor_, beta2_tensor_, epsilon_tensor_;
};

}  // namespace

std::unique_ptr<Optimizer> gradient_descent(Hyper rate, bool use_locking, std::string name) {
  return std::make_unique<GradientDescent>(rate, use_locking, std::move(name));
}

std::unique_ptr<Optimizer> momentum(Hyper rate, Hyper momentum, bool use_locking, std::string name,
                                    bool use_nesterov) {
  return std::make_unique<Momentum>(rate, momentum, use_locking, std::move(name), use_nesterov);
}

std::unique_ptr<Optimizer> adagrad(Hyper rate, double initial_accumulator, bool use_locking,
                                   std::string name) {
  return std::make_unique<Adagrad>(rate, initial_accumulator, use_locking, std::move(name));
}

std::unique_ptr<Optimizer> adam(Hyper rate, Hyper beta1, Hyper beta2, Hyper epsilon,
                                bool use_locking, std::string name) {
  return std::make_unique<Adam>(rate, beta1, beta2, epsilon, use_locking, std::move(name));
}

}  // namespace capstan
