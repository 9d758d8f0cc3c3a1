#include "build/sync_replicas.h"

#include <algorithm>

#include "build/basics.h"

namespace capstan {
namespace {

int64_t total(const SyncReplicasOptions& o) {
  return o.total_replicas > 0 ? o.total_replicas : o.replicas_to_aggregate;
}

// Ops on the token queue are named after it, at the root.
Node& queue_op(Graph& g, std::string_view op, std::string_view name, std::vector<Output> inputs,
               AttrMap attrs) {
  return g.add_node(op, inputs, std::move(attrs), fmt::format("sync_token_q_{}", name));
}

Node& enqueue_tokens(Graph& g, Output queue, int64_t count, const VariableRef& global_step) {
  Output tokens = fill(g, {count}, global_step.read);
  return queue_op(g, "QueueEnqueueManyV2", "EnqueueMany", {queue, tokens},
                  {{"timeout_ms", int64_t(-1)}});
}

class Builder {
 public:
  Builder(Graph& graph, const SyncReplicasOptions& options, const VariableRef& global_step)
      : g_(graph), options_(options), step_(global_step) {}

  SyncReplicas build(Optimizer& optimizer, std::span<const GradientAndVariable> gradients,
                     std::span<const Output> globals) {
    make_local_step();
    out_.ready_for_local_init = report_uninitialized(g_, globals);
    auto root = g_.name_scope("");
    auto scope = g_.name_scope(options_.name);
    std::vector<GradientAndVariable> aggregated;
    for (const GradientAndVariable& item : gradients) aggregated.push_back(accumulate(item));
    {
      auto device = g_.device(step_.device());
      auto outside = g_.name_scope("");
      Node& update = apply_gradients(g_, optimizer, aggregated, &step_);
      out_.update = &update;
      make_queue();
      make_train_op(update);
    }
    make_chief_init();
    return std::move(out_);
  }

 private:
  void make_local_step() {
    // The variable must not go to a parameter server: it is colocated with a node of this worker.
    Node& anchor = g_.add_node("NoOp", {});
    VariableOptions options;
    options.name = "sync_rep_local_step";
    {
      auto with = g_.colocate_with(&anchor);
      out_.local_step = make_variable(g_, scalar_of(step_.dtype(), 0), options);
    }
    auto with = g_.colocate_with(out_.local_step.ref.node);
    out_.local_step_init = g_.add("Assign", {out_.local_step.ref, step_.read}).node;
  }

  GradientAndVariable accumulate(const GradientAndVariable& item) {
    if (!item.gradient) return item;
    auto device = g_.device(item.variable.device());
    Output accumulator = g_.add("ResourceConditionalAccumulator", {},
                                {{"dtype", item.gradient.dtype()},
                                 {"shape", item.variable.shape()},
                                 {"shared_name", item.variable.name() + ":0/grad_accum"}},
                                "conditional_accumulator");
    out_.accumulators.push_back(accumulator);
    accumulator_devices_.push_back(item.variable.device());
    // Accumulators count in int64, whatever the type of the step.
    Output inputs[] = {accumulator, cast_to(out_.local_step.read, DType::kInt64), item.gradient};
    pushes_.push_back(&g_.add_node("ResourceAccumulatorApplyGradient", inputs));
    std::string name = g_.unique_name("ResourceAccumulatorTakeGradient");
    Output required = g_.constant(Tensor::scalar<int32_t>(int32_t(options_.replicas_to_aggregate)),
                                  name + "/num_required/");
    Output mean = g_.add("ResourceAccumulatorTakeGradient", {accumulator, required},
                         {{"dtype", item.gradient.dtype()}}, name + "/");
    return {mean, item.variable};
  }

  void make_queue() {
    auto cpu = g_.device("/device:CPU:*");
    out_.token_queue = g_.add("FIFOQueueV2", {},
                              {{"component_types", std::vector<DType>{step_.dtype()}},
                               {"shapes", std::vector<Shape>{Shape{}}},
                               {"capacity", int64_t(-1)},
                               {"shared_name", std::string("sync_token_q")}},
                              "sync_token_q");
  }

  void make_train_op(Node& update) {
    Output token;
    {
      auto after = g_.control_dependencies(pushes_);
      token = queue_op(g_, "QueueDequeueV2", "Dequeue", {out_.token_queue},
                       {{"component_types", std::vector<DType>{step_.dtype()}},
                        {"timeout_ms", int64_t(-1)}})
                  .output(0);
      g_.set_shape(token, {});
    }
    {
      auto with = g_.colocate_with(out_.local_step.ref.node);
      out_.train_op = g_.add("Assign", {out_.local_step.ref, token}).node;
    }
    {
      auto after = g_.control_dependencies({&update});
      out_.sync_op = &enqueue_tokens(
          g_, out_.token_queue, std::max(total(options_), options_.replicas_to_aggregate), step_);
    }
    out_.close_queue = &queue_op(g_, "QueueCloseV2", "Close", {out_.token_queue},
                                 {{"cancel_pending_enqueues", false}});
    out_.cancel_queue = &queue_op(g_, "QueueCloseV2", "Close", {out_.token_queue},
                                  {{"cancel_pending_enqueues", true}});
  }

  void make_chief_init() {
    std::vector<Node*> nodes = {out_.local_step_init};
    for (size_t i = 0; i < out_.accumulators.size(); ++i) {
      auto device = g_.device(accumulator_devices_[i]);
      Output inputs[] = {out_.accumulators[i], cast_to(step_.read, DType::kInt64)};
      nodes.push_back(
          &g_.add_node("ResourceAccumulatorSetGlobalStep", inputs, {}, "SetGlobalStep"));
    }
    out_.chief_init = &group(g_, nodes);
  }

  Graph& g_;
  const SyncReplicasOptions& options_;
  const VariableRef& step_;
  SyncReplicas out_;
  std::vector<Node*> pushes_;
  std::vector<std::string> accumulator_devices_;
};

}  // namespace

SyncReplicas apply_gradients_in_sync(Graph& graph, Optimizer& optimizer,
                                     const SyncReplicasOptions& options,
                                     std::span<const GradientAndVariable> gradients,
                                     const VariableRef& global_step,
                                     std::span<const Output> global_variables) {
  if (!global_step.ref)
    throw invalid_argument("SyncReplicasOptimizer needs a global_step to drop stale gradients by");
  return Builder(graph, options, global_step).build(optimizer, gradients, global_variables);
}

Node& init_tokens(Graph& graph, const SyncReplicas& sync, const SyncReplicasOptions& options,
                  const VariableRef& global_step, int64_t num_tokens) {
  int64_t needed = options.replicas_to_aggregate - total(options);
  if (num_tokens < 0) num_tokens = options.replicas_to_aggregate;
  if (num_tokens < needed) {
    throw invalid_argument(
        "{} tokens are too few to start with {} replicas to aggregate and {} in all: at least {} "
        "are needed",
        num_tokens, options.replicas_to_aggregate, total(options), needed);
  }
  auto device = graph.device(global_step.device());
  auto root = graph.name_scope("");
  if (num_tokens == 0) return graph.add_node("NoOp", {}, {}, "no_init_tokens");
  return enqueue_tokens(graph, sync.token_queue, num_tokens, global_step);
}

}  // namespace capstan
