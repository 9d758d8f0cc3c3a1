#pragma once

// Variables, composites and optimizers as Python sees them.

#include <nanobind/nanobind.h>

#include "build/basics.h"
#include "build/variables.h"

namespace capstan {

namespace nb = nanobind;

// A tf.Variable's nodes.
VariableRef variable_of(nb::handle variable);
std::vector<VariableRef> variables_of(nb::handle variables);
// (reference, reading, initial value, initializer), for Variable._from_parts.
nb::tuple variable_parts(nb::handle graph, const VariableRef& variable);
// A number or a tensor.
Hyper hyper_of(nb::handle value);

void bind_build(nb::module_& m);
void bind_composites(nb::module_& m);
void bind_optimizers(nb::module_& m);

}  // namespace capstan
