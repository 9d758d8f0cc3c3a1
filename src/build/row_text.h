#pragma once

// The parameters that rows declare as text: "losses.log_loss (labels: float32, epsilon=1e-7)".

#include <string_view>
#include <vector>

namespace capstan {

struct RowParameter {
  std::string_view name;
  std::string_view how;    // what stands after the colon
  std::string_view value;  // the default, as Python writes it; empty: must be given
};

std::vector<RowParameter> row_parameters(std::string_view python);

}  // namespace capstan
