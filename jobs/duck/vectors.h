#pragma once

// Vectors of DuckDB as tensors and back.

#include <vector>

#include "jobs/duck/api.h"
#include "jobs/script/engine.h"

namespace capstan::duck {

// The type of SQL for a single value: "FLOAT". Throws InvalidArgument for one that SQL has not.
const char* sql_type(DType dtype);
Type type_of(const Api& api, const script::FunctionValue& value);

// The nulls of a vector, and those inside its lists.
class NullFinder {
 public:
  NullFinder(const Api& api, Vector vector, const script::FunctionValue& value);
  // False: there are none.
  bool any() const { return validity_ || inside_; }
  bool at(uint64_t row) const;

 private:
  const uint64_t* validity_;
  const uint64_t* inside_ = nullptr;
  const ListEntry* lists_ = nullptr;
};

// The given rows of a vector, none of which is null or has one. Throws InvalidArgument for a list
// of another length than the width.
Tensor to_tensor(const Api& api, Vector vector, const script::FunctionValue& value,
                 const std::vector<uint32_t>& rows);

// Puts row i of the tensor at rows[i] of the vector; the others become null. Throws Internal for a
// tensor of another type or size.
void from_tensor(const Api& api, const Tensor& tensor, const script::FunctionValue& value,
                 const std::vector<uint32_t>& rows, uint64_t all, Vector out);

}  // namespace capstan::duck
