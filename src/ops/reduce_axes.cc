#include "ops/reduce_axes.h"

#include "ops/types.h"

namespace capstan {

uint32_t axes_mask(const Node& node, const Tensor& axes, int rank) {
  uint32_t mask = 0;
  for (int64_t i = 0; i < axes.size(); ++i) {
    const int axis = resolve_axis(node, int_at(axes, i), rank);
    if (mask >> axis & 1) {
      throw invalid_argument("{} (node '{}'): axis {} stands twice in {}", node.op(), node.name(),
                             axis, axes.text());
    }
    mask |= 1u << axis;
  }
  return mask;
}

Shape reduced(const Shape& shape, uint32_t mask, bool keep_dims) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!(mask & (1u << i))) {
      out.push_back(shape[i]);
    } else if (keep_dims) {
      out.push_back(1);
    }
  }
  return out;
}

ReduceGroups::ReduceGroups(const Shape& shape, uint32_t mask) {
  bool reduced_dim[Shape::kMaxRank];
  int count = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    bool r = mask & (1u << i);
    if (!r) outputs *= shape[i];
    if (shape[i] == 1) continue;
    if (count > 0 && reduced_dim[count - 1] == r) {
      dims_[count - 1] *= shape[i];
    } else {
      dims_[count] = shape[i];
      reduced_dim[count++] = r;
    }
  }
  if (count == 0) return;
  inner = dims_[count - 1];
  inner_reduced = reduced_dim[count - 1];
  rank_ = count - 1;
  int64_t stride = inner_reduced ? 1 : inner;
  for (int d = rank_ - 1; d >= 0; --d) {
    strides_[d] = reduced_dim[d] ? 0 : stride;
    if (!reduced_dim[d]) stride *= dims_[d];
  }
}

}  // namespace capstan
