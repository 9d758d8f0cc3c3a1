#pragma once

// ``run t as Evaluate.`` where label="y" and prediction="p" as m``: how good predictions are.

#include "jobs/script/algorithm.h"

namespace capstan::script {

extern const Algorithm kEvaluate;

}  // namespace capstan::script
