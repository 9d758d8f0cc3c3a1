#pragma once

// The two halves of checking a TFJob: names and types by the tables, then what one field says of
// another.

#include <vector>

#include "jobs/k8s/tf_job.h"

namespace capstan::jobs::k8s {

void check_shape(const nlohmann::json& object, bool strict, std::vector<FieldError>& errors);
// `job` was read from `object`, as far as that went.
void check_rules(const TfJob& job, const nlohmann::json& object, std::vector<FieldError>& errors);

// 50 of "50%"; nothing for what is no share between 1% and 100%.
std::optional<int> percentage(std::string_view text);

}  // namespace capstan::jobs::k8s
