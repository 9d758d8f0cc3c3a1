#pragma once

// Servers and cluster specs as Python sees them.

#include <nanobind/nanobind.h>

#include <memory>

#include "cluster/server.h"

namespace capstan {

namespace nb = nanobind;

// The server behind a Python object, or null for None.
std::shared_ptr<Server> server_of(nb::handle server);

void bind_cluster(nb::module_& m);
void bind_session(nb::module_& m);

}  // namespace capstan
