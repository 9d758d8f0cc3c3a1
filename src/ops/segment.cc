// Sums of rows by segment.

#include <algorithm>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "math/wrapping.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/row_shapes.h"
#include "ops/types.h"

namespace capstan {
namespace {

using Kernel = void (*)(KernelContext&);
void call_state(KernelContext& c) { c.state<Kernel>()(c); }

Shape segmented(const Node& node, const Shape& data, const Shape& ids, int64_t segments) {
  return rows_of(segments, rest_behind(node, data, ids, "segment_ids"));
}

template <class T>
void unsorted_segment_sum(KernelContext& c) {
  const Tensor &data = c.in(0), &ids = c.in(1);
  int64_t segments = int_at(c.in(2), 0);
  if (segments < 0) throw invalid_argument("num_segments is {}, which is negative", segments);
  Tensor& out = c.out(0, segmented(c.node(), data.shape(), ids.shape(), segments));
  std::fill_n(out.data<T>(), out.size(), T(0));
  int64_t width = ids.size() ? data.size() / ids.size() : 0;
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t id = int_at(ids, i);
    if (id < 0) continue;  // dropped, as in TensorFlow
    if (id >= segments)
      throw invalid_argument("segment_ids[{}] = {} is not in [0, {})", i, id, segments);
    const T* from = data.data<T>() + i * width;
    T* to = out.data<T>() + id * width;
    for (int64_t j = 0; j < width; ++j) to[j] = wrapping_add(to[j], from[j]);
  }
}

void segment_shape(ShapeContext& c) {
  const Shape &data = c.in(0), &ids = c.in(1);
  if (!data.known_rank() || !ids.known_rank()) return c.out(0, Shape::unknown());
  c.out(0, segmented(c.node(), data, ids, c.constant(2) ? int_at(*c.constant(2), 0) : -1));
}

constexpr OpDef kUnsortedSegmentSum = {
    .name = "UnsortedSegmentSum",
    .python = "unsorted_segment_sum math.unsorted_segment_sum",
    .doc = "Rows added up into the segments that segment_ids name; negative ids are dropped.",
    .inputs = {{"data", "T"}, {"segment_ids", "Tindices"}, {"num_segments", "Tnumsegments", 0}},
    .outputs = {{"output", "T"}},
    .attrs = {{"T", kNumberTypes},
              {"Tindices", kIndexTypes},
              {"Tnumsegments", kIndexTypes, "int32"}},
    .shape = segment_shape,
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      return std::make_shared<Kernel>(for_number(node, node.output_type(0), [](auto tag) -> Kernel {
        return unsorted_segment_sum<typename decltype(tag)::type>;
      }));
    },
    .samples = {"float[3,2] int32[3]{1,0,1} int32[]{3}"},
};

constexpr const OpDef* kRows[] = {&kUnsortedSegmentSum};

}  // namespace

OpFamily segment_ops() { return kRows; }

}  // namespace capstan
