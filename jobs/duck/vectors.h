#pragma once

// Vectors of DuckDB as tensors and back.

#include <vector>

#include "jobs/duck/api.h"
#include "jobs/script/engine.h"

namespace capstan::duck {

// The type of SQL for a single value: "FLOAT". Throws InvalidArgument for one that SQL has not.
const char* sql_type(DType dtype);
Type type_of(const Api& api, const script::FunctionValue& value);

// The given rows of a vector. Throws InvalidArgument for a list of another length than the width,
// or with a null in it.
Tensor to_tensor(const Api& api, Vector vector, const script::FunctionValue& value,
                 const std::vector<uint32_t>& rows);
bool is_null(const Api& api, Vector vector, uint64_t row);

// Puts row i of the tensor at rows[i] of the vector; the others become null. Throws Internal for a
// tensor of another type or size.
void from_tensor(const Api& api, const Tensor& tensor, const script::FunctionValue& value,
                 const std::vector<uint32_t>& rows, uint64_t all, Vector out);

}  // namespace capstan::duck
