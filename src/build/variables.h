#pragma once

// Variables as graphs hold them: the VariableV2 node, its initial value, the Assign that sets it
// and the Identity that reads it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace capstan {

struct VariableRef {
  Output ref, read, initial_value;
  Node* initializer = nullptr;

  const std::string& name() const { return ref.node->name(); }
  DType dtype() const { return ref.dtype(); }
  const Shape& shape() const { return ref.shape(); }
  const std::string& device() const { return ref.node->device(); }
};

struct VariableOptions {
  std::string name = "Variable";   // made unique; as it is when it ends in "/"
  DType dtype = DType::kInvalid;   // kInvalid: the initial value's
  Shape shape = Shape::unknown();  // of the variable, when known beforehand
  bool validate_shape = true;
  // The initial value comes from a function (an initializer): its nodes then go to the scope
  // "<name>/Initializer", without a device, colocated with the variable.
  bool from_function = false;
};

// Calls `initial` once, at the right place, for the initial value. Control dependencies of the
// caller do not apply (a variable is made outside of them).
VariableRef make_variable(Graph& graph, const std::function<Output()>& initial,
                          VariableOptions options);
// From a tensor, with the constant named "<name>/initial_value".
VariableRef make_variable(Graph& graph, Tensor initial, VariableOptions options);

// A slot: a variable named "<primary>/<name>" that lives with its primary.
// Within a variable scope of Python's the name is "<scope>/<primary>/<name>", as TensorFlow has it.
VariableRef make_slot(Graph& graph, const VariableRef& primary, std::string_view name,
                      const std::function<Output()>& initial, std::string_view scope = {});
VariableRef make_zeros_slot(Graph& graph, const VariableRef& primary, std::string_view name,
                            std::string_view scope = {});

// tf.train.get_or_create_global_step's variable.
VariableRef make_global_step(Graph& graph);

// The `init` group of all initializers.
Node& initialize(Graph& graph, std::span<const VariableRef> variables,
                 std::string_view name = "init");

}  // namespace capstan
