#pragma once

// What the training layer of Python needs besides the builders: meta graphs, and the launcher's
// ear.

#include <nanobind/nanobind.h>

namespace capstan {

namespace nb = nanobind;

void bind_train(nb::module_& m);

}  // namespace capstan
