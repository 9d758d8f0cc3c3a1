// What the environment says to Python; parsed in base/settings only.

#include <nanobind/stl/string.h>

#include "base/settings.h"
#include "handles.h"

namespace capstan {

void bind_settings(nb::module_& m) {
  m.def("role_flags", [] { return settings_from_environment().role_flags; });
  m.def("watched", [] {
    Settings settings = settings_from_environment();
    return settings.task_fd >= 0 || settings.max_steps > 0;
  });
  m.def("max_steps", [] { return settings_from_environment().max_steps; });
}

}  // namespace capstan
