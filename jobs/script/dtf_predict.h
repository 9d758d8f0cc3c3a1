#pragma once

// What a trained model is for: DTF's `predict`, a table with the model's answers beside its
// columns, and `register`, a SQL function of them. The graph runs in this process; no Python is
// started.

#include <span>

#include "jobs/script/algorithm.h"

namespace capstan::script {

// ``predict t as DTF.`path` where … as result``: all columns of t, then one per output.
void dtf_predict(const AlgorithmCall& call);
std::span<const OptionDef> dtf_predict_options();

// ``register DTF.`path` as f where …``: the function, and a table of its name that explains it.
void dtf_enroll(const AlgorithmCall& call);
std::span<const OptionDef> dtf_enroll_options();

}  // namespace capstan::script
