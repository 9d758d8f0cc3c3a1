#pragma once

// Columns put side by side as the rows of one tensor.

#include <span>

#include "tensor/tensor.h"

namespace capstan::script {

// [rows] each, all of one type, to [rows, count].
Tensor side_by_side(std::span<const Tensor> columns);

}  // namespace capstan::script
