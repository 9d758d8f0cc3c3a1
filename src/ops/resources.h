#pragma once

// What rows of queues and accumulators share: finding the resource behind a node, and running a
// blocking kernel so that every failure ends in ctx.fail().

#include <memory>
#include <string>
#include <string_view>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "kernel/resource.h"

namespace capstan {

// TensorFlow has two kinds of handles: resources, and in older ops references of strings.
constexpr std::string_view kResourceHandle = "resource", kStringHandle = "Ref(string)";

// The name under which a node's resource is kept: its shared_name, else its own.
inline const std::string& resource_name(const Node& node) {
  const auto& shared = node.attrs().get<std::string>("shared_name");
  return shared.empty() ? node.name() : shared;
}

// The container and the name, as TensorFlow announces handles of its older kind, and those of
// accumulators.
inline void pair_handle(ShapeContext& c) { c.out(0, Shape{2}); }
inline void queue_handle(ShapeContext& c) {
  c.node().output_type(0) == DType::kResource ? scalar_shape(c) : pair_handle(c);
}

// Output 0 becomes the handle. Resources with a shared_name belong to the task, others to the
// session.
template <class R, class Make>
std::shared_ptr<R> make_handle(KernelContext& c, std::string_view kind, const Make& make) {
  const AttrMap& attrs = c.node().attrs();
  const bool shared = !attrs.get<std::string>("shared_name").empty();
  ResourceStore& store = shared ? c.task().resources : c.session().resources;
  auto resource =
      store.get(attrs.get<std::string>("container"), resource_name(c.node()), kind, make);
  c.set_out(0, resource_tensor(c.node().output_type(0), c.node().output_shape(0), resource));
  return std::static_pointer_cast<R>(resource);
}

// Runs the body of a blocking kernel. What it throws, it throws before it has begun to wait.
template <class Body>
void begin_waiting(KernelContext& c, const Body& body) {
  try {
    body();
  } catch (...) {
    c.fail(current_error());
  }
}

}  // namespace capstan
