#pragma once

// ``train t as DTF.`path` where … as result``: a cluster of Python scripts trains on the rows of a
// table, one shard for each worker, and what the chief writes becomes the next model of the path.

#include <span>

#include "jobs/script/algorithm.h"

namespace capstan::script {

// Leaves two tables, for a run that fails too: call.result with a row per task, and training_info.
void dtf_train(const AlgorithmCall& call);
std::span<const OptionDef> dtf_train_options();

// Those two, and what jobs/script/dtf_predict.h has.
extern const Algorithm kDtf;

}  // namespace capstan::script
