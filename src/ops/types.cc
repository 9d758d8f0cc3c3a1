#include "ops/types.h"

namespace capstan {

Shape shape_from(const Tensor& t) {
  if (t.size() > Shape::kMaxRank) {
    throw invalid_argument("a shape of {} dimensions is beyond the limit of {}", t.size(),
                           Shape::kMaxRank);
  }
  Shape shape;
  for (int64_t i = 0; i < t.size(); ++i) {
    int64_t dim = int_at(t, i);
    if (dim < 0) throw invalid_argument("dimension {} of the shape {} is negative", i, t.text());
    shape.push_back(dim);
  }
  return shape;
}

int64_t single_int(const Node& node, const Tensor& t) {
  if (t.size() == 1) return int_at(t, 0);
  throw invalid_argument("{} (node '{}') needs one number, but got a tensor of shape {}", node.op(),
                         node.name(), t.shape());
}

int resolve_axis(const Node& node, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw invalid_argument("{} (node '{}'): axis {} is outside [-{}, {})", node.op(), node.name(),
                           axis, rank, rank);
  }
  return int(axis < 0 ? axis + rank : axis);
}

}  // namespace capstan
