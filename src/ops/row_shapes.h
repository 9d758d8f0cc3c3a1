#pragma once

// Shapes of tensors that are rows behind indices.

#include "base/error.h"
#include "graph/node.h"
#include "tensor/shape.h"

namespace capstan {

// The dimensions of `data` behind `front`, which it must begin with; `what` has that shape.
inline Shape rest_behind(const Node& node, const Shape& data, const Shape& front,
                         std::string_view what) {
  bool fits = front.rank() <= data.rank();
  for (int i = 0; fits && i < front.rank(); ++i)
    fits = data[i] < 0 || front[i] < 0 || data[i] == front[i];
  if (fits) return Shape(data.dims().subspan(size_t(front.rank())));
  throw invalid_argument("{} (node '{}'): data of shape {} does not begin with the shape {} of {}",
                         node.op(), node.name(), data, front, what);
}

inline Shape rows_of(int64_t count, const Shape& row) {
  Shape out{count};
  for (int64_t dim : row.dims()) out.push_back(dim);
  return out;
}

}  // namespace capstan
