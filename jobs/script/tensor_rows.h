#pragma once

// Tensors between tables and models: columns put side by side, numbers of another type.

#include <span>

#include "tensor/tensor.h"

namespace capstan::script {

// Numbers and truth values; the tensor itself where it has the type already.
Tensor converted(const Tensor& from, DType dtype);
// [rows] each, to [rows, count] of the type.
Tensor side_by_side(std::span<const Tensor> columns, DType dtype);
// A type that SQL has, wide enough for every value of the model's; throws InvalidArgument for text
// and what else no column holds.
DType column_dtype(DType dtype, std::string_view what);

}  // namespace capstan::script
