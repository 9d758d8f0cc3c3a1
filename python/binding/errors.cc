// capstan::Error as the matching class of capstan.core.errors, with the op and the task it came
// from.

#include <nanobind/stl/string.h>

#include "gil.h"
#include "handles.h"

namespace capstan {
namespace {

void translate(const std::exception_ptr& thrown, void*) {
  if (!thrown) stay_outside();  // no exception: the interpreter ends, and kills the thread here
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    nb::object make = nb::module_::import_("capstan.core.errors").attr("from_engine");
    nb::object exception = make(int(error.code()), error.message(), error.op(), error.task());
    PyErr_SetObject((PyObject*)Py_TYPE(exception.ptr()), exception.ptr());
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace capstan
