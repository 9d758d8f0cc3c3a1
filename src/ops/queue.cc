// Queues, in TensorFlow's newer form (resource handles) and the older one (string references).

#include <array>

#include "graph/shape_context.h"
#include "kernel/queue.h"
#include "ops/families.h"
#include "ops/resources.h"
#include "ops/types.h"

namespace capstan {
namespace {

constexpr RowList<AttrDef, 14> kElementAttrs = {{"component_types", "list(type)>=1"},
                                                {"timeout_ms", "int", "-1"}};

// --- The queue itself ----------------------------------------------------------------------------

void check_same_queue(const FifoQueue& queue, const AttrMap& attrs) {
  const auto capacity = attrs.get<int64_t>("capacity");
  if (queue.capacity() != capacity && (queue.capacity() >= 0 || capacity >= 0)) {
    throw invalid_argument("Shared queue '{}' has capacity {} but requested capacity was {}",
                           queue.name(), queue.capacity(), capacity);
  }
  if (queue.types() != attrs.get<std::vector<DType>>("component_types")) {
    throw invalid_argument("Shared queue '{}' holds other component types than requested",
                           queue.name());
  }
  if (queue.shapes() != attrs.get<std::vector<Shape>>("shapes")) {
    throw invalid_argument("Shared queue '{}' holds other component shapes than requested",
                           queue.name());
  }
}

void fifo_queue(KernelContext& c) {
  const AttrMap& attrs = c.node().attrs();
  auto queue = make_handle<FifoQueue>(c, "FIFOQueue", [&]() -> std::shared_ptr<Resource> {
    return std::make_shared<FifoQueue>(resource_name(c.node()), attrs.get<int64_t>("capacity"),
                                       attrs.get<std::vector<DType>>("component_types"),
                                       attrs.get<std::vector<Shape>>("shapes"));
  });
  check_same_queue(*queue, attrs);
}

constexpr OpDef queue_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "A queue of tuples, first in first out.",
          .outputs = {{"handle", handle}},
          .attrs = {{"component_types", "list(type)>=1"},
                    {"shapes", "list(shape)", "[]"},
                    {"capacity", "int", "-1"},
                    {"container", "string", "''"},
                    {"shared_name", "string", "''"}},
          .shape = queue_handle,
          .kernel = fifo_queue,
          .no_gradient = true,
          .stateful = true};
}

// --- Enqueue -------------------------------------------------------------------------------------

// Copies: what a kernel gets may lie in memory that the next step writes over.
Tuple components(KernelContext& c) {
  Tuple tuple;
  for (int i = 1; i < c.inputs(); ++i) tuple.push_back(c.in(i).clone());
  return tuple;
}

FifoQueue::Done finish(KernelContext& c) {
  return [&c](const Error* error) { error ? c.fail(*error) : c.done(); };
}

void enqueue(KernelContext& c) {
  begin_waiting(c, [&] {
    resource_of<FifoQueue>(c.in(0))->enqueue(components(c), &c.cancellation(), finish(c));
  });
}

void enqueue_many(KernelContext& c) {
  begin_waiting(c, [&] {
    resource_of<FifoQueue>(c.in(0))->enqueue_many(components(c), &c.cancellation(), finish(c));
  });
}

constexpr OpDef enqueue_row(std::string_view name, std::string_view handle, std::string_view doc,
                            void (*blocking)(KernelContext&)) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"handle", handle}, {"components", "Tcomponents"}},
          .attrs = {{"Tcomponents", "list(type)>=1"}, {"timeout_ms", "int", "-1"}},
          .shape = no_outputs,
          .blocking = blocking,
          .no_gradient = true,
          .stateful = true};
}

constexpr std::string_view kEnqueueDoc = "Puts a tuple into the queue; waits while it is full.";
constexpr std::string_view kEnqueueManyDoc = "Puts the rows of a batch into the queue, one by one.";

// --- Dequeue -------------------------------------------------------------------------------------

FifoQueue::DoneTuple hand_out(KernelContext& c) {
  return [&c](const Error* error, Tuple tuple) {
    if (error) return c.fail(*error);
    for (size_t i = 0; i < tuple.size(); ++i) c.set_out(int(i), std::move(tuple[i]));
    c.done();
  };
}

std::shared_ptr<FifoQueue> queue_of_outputs(KernelContext& c) {
  auto queue = resource_of<FifoQueue>(c.in(0));
  if (queue->types() != c.node().attrs().get<std::vector<DType>>("component_types")) {
    throw invalid_argument("{} asks for other component types than queue '{}' holds",
                           c.node().name(), queue->name());
  }
  return queue;
}

void dequeue(KernelContext& c) {
  begin_waiting(c, [&] { queue_of_outputs(c)->dequeue(&c.cancellation(), hand_out(c)); });
}

void dequeue_many(KernelContext& c) {
  begin_waiting(c, [&] {
    queue_of_outputs(c)->dequeue_many(c.scalar<int32_t>(1), false, &c.cancellation(), hand_out(c));
  });
}

void dequeue_up_to(KernelContext& c) {
  begin_waiting(c, [&] {
    queue_of_outputs(c)->dequeue_many(c.scalar<int32_t>(1), true, &c.cancellation(), hand_out(c));
  });
}

// The shapes that the queue's own node announces, when it is in sight.
std::vector<Shape> component_shapes(ShapeContext& c) {
  const Node* queue = c.node().input(0).node;
  const size_t count = size_t(c.node().outputs());
  if (queue && queue->attrs().has("shapes")) {
    const auto& shapes = queue->attrs().get<std::vector<Shape>>("shapes");
    if (shapes.size() == count) return shapes;
  }
  return std::vector<Shape>(count, Shape::unknown());
}

void dequeue_shape(ShapeContext& c) {
  const std::vector<Shape> shapes = component_shapes(c);
  for (size_t i = 0; i < shapes.size(); ++i) c.out(int(i), shapes[i]);
}

void batches_of(ShapeContext& c, int64_t rows) {
  const std::vector<Shape> shapes = component_shapes(c);
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].known_rank()) continue;
    Shape batch{rows};
    for (int64_t dim : shapes[i].dims()) batch.push_back(dim);
    c.out(int(i), batch);
  }
}

void dequeue_many_shape(ShapeContext& c) {
  const Tensor* n = c.constant(1);
  if (n && *n->data<int32_t>() < 0) {
    throw invalid_argument("Input 'n' must be >= 0, but is {}", *n->data<int32_t>());
  }
  batches_of(c, n ? *n->data<int32_t>() : -1);
}

void dequeue_up_to_shape(ShapeContext& c) { batches_of(c, -1); }

constexpr OpDef dequeue_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "Takes the first tuple out of the queue; waits while there is none.",
          .inputs = {{"handle", handle}},
          .outputs = {{"components", "component_types"}},
          .attrs = kElementAttrs,
          .shape = dequeue_shape,
          .blocking = dequeue,
          .no_gradient = true,
          .stateful = true};
}

constexpr OpDef dequeue_many_row(std::string_view name, std::string_view handle, bool up_to) {
  return {.name = name,
          .doc = up_to ? "Takes n tuples, as one batch; fewer once the queue is closed."
                       : "Takes n tuples out of the queue, as one batch; waits for all of them.",
          .inputs = {{"handle", handle}, {"n", "int32", 0}},
          .outputs = {{"components", "component_types"}},
          .attrs = kElementAttrs,
          .shape = up_to ? dequeue_up_to_shape : dequeue_many_shape,
          .blocking = up_to ? dequeue_up_to : dequeue_many,
          .no_gradient = true,
          .stateful = true};
}

// --- Close, size ---------------------------------------------------------------------------------

void close(KernelContext& c) {
  begin_waiting(c, [&] {
    const bool cancel = c.node().attrs().get<bool>("cancel_pending_enqueues");
    resource_of<FifoQueue>(c.in(0))->close(cancel, &c.cancellation(), finish(c));
  });
}

void size(KernelContext& c) {
  *c.out(0, Shape{}).data<int32_t>() = int32_t(resource_of<FifoQueue>(c.in(0))->size());
}

void is_closed(KernelContext& c) {
  *c.out(0, Shape{}).data<bool>() = resource_of<FifoQueue>(c.in(0))->closed();
}

constexpr OpDef close_row(std::string_view name, std::string_view handle) {
  return {
      .name = name,
      .doc = "No enqueue succeeds afterwards. Waits for the enqueues before it, or cancels them.",
      .inputs = {{"handle", handle}},
      .attrs = {{"cancel_pending_enqueues", "bool", "false"}},
      .shape = no_outputs,
      .blocking = close,
      .no_gradient = true,
      .stateful = true};
}

constexpr OpDef size_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "How many tuples are in the queue.",
          .inputs = {{"handle", handle}},
          .outputs = {{"size", "int32"}},
          .shape = scalar_shape,
          .kernel = size,
          .no_gradient = true,
          .stateful = true};
}

constexpr OpDef is_closed_row(std::string_view name, std::string_view handle) {
  return {.name = name,
          .doc = "Whether the queue has been closed.",
          .inputs = {{"handle", handle}},
          .outputs = {{"is_closed", "bool"}},
          .shape = scalar_shape,
          .kernel = is_closed,
          .no_gradient = true,
          .stateful = true};
}

// Both forms of every row.
constexpr std::array<OpDef, 18> kQueueRows = {
    queue_row("FIFOQueueV2", kResourceHandle),
    queue_row("FIFOQueue", kStringHandle),
    enqueue_row("QueueEnqueueV2", kResourceHandle, kEnqueueDoc, enqueue),
    enqueue_row("QueueEnqueue", kStringHandle, kEnqueueDoc, enqueue),
    enqueue_row("QueueEnqueueManyV2", kResourceHandle, kEnqueueManyDoc, enqueue_many),
    enqueue_row("QueueEnqueueMany", kStringHandle, kEnqueueManyDoc, enqueue_many),
    dequeue_row("QueueDequeueV2", kResourceHandle),
    dequeue_row("QueueDequeue", kStringHandle),
    dequeue_many_row("QueueDequeueManyV2", kResourceHandle, false),
    dequeue_many_row("QueueDequeueMany", kStringHandle, false),
    dequeue_many_row("QueueDequeueUpToV2", kResourceHandle, true),
    dequeue_many_row("QueueDequeueUpTo", kStringHandle, true),
    close_row("QueueCloseV2", kResourceHandle),
    close_row("QueueClose", kStringHandle),
    size_row("QueueSizeV2", kResourceHandle),
    size_row("QueueSize", kStringHandle),
    is_closed_row("QueueIsClosedV2", kResourceHandle),
    is_closed_row("QueueIsClosed", kStringHandle),
};

}  // namespace

OpFamily queue_ops() {
  static constexpr auto kRows = row_pointers(kQueueRows);
  return kRows;
}

}  // namespace capstan
