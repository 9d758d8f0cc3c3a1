#pragma once

// Synchronous training: workers push gradients to accumulators, the chief's queue runner applies
// the mean of enough of them and hands out tokens, without which no worker begins its next step.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "build/optimizer.h"

namespace capstan {

struct SyncReplicasOptions {
  int64_t replicas_to_aggregate = 1;
  int64_t total_replicas = 0;  // 0: as many as are aggregated
  std::string name = "sync_replicas";
};

// What apply_gradients() leaves behind.
struct SyncReplicas {
  Node* train_op = nullptr;  // a worker's step
  Node* update = nullptr;    // what the inner optimizer does with the means
  VariableRef local_step;
  Node* local_step_init = nullptr;  // every replica that is not the chief
  Node* chief_init = nullptr;
  Output ready_for_local_init;
  Output token_queue;
  Node* sync_op = nullptr;      // what the chief's queue runner runs again and again
  Node* close_queue = nullptr;  // and what ends it
  Node* cancel_queue = nullptr;
  std::vector<Output> accumulators;
};

// `global_variables`: what ready_for_local_init asks after. Throws InvalidArgument without a global
// step.
SyncReplicas apply_gradients_in_sync(Graph& graph, Optimizer& optimizer,
                                     const SyncReplicasOptions& options,
                                     std::span<const GradientAndVariable> gradients,
                                     const VariableRef& global_step,
                                     std::span<const Output> global_variables);
// Fills the token queue before the first step; num_tokens < 0: replicas_to_aggregate. Throws
// InvalidArgument for fewer than replicas_to_aggregate - total_replicas, with which training would
// stop at once.
Node& init_tokens(Graph& graph, const SyncReplicas& sync, const SyncReplicasOptions& options,
                  const VariableRef& global_step, int64_t num_tokens = -1);

}  // namespace capstan
