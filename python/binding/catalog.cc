// The rows of the catalog, for the Python functions that are derived from them.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/nearest.h"
#include "convert.h"
#include "graph/attr_kind.h"
#include "handles.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

nb::str text(std::string_view value) { return nb::str(value.data(), value.size()); }

// (name, count attr, type attr, list attr, fixed type, is a reference)
nb::tuple arg_row(const OpDef& def, const ArgDef& arg) {
  ArgType type = arg_type(def, arg);
  return nb::make_tuple(text(arg.name), text(type.count_attr), text(type.type_attr),
                        text(type.list_attr), int(type.fixed), type.ref);
}

// (name, kind, allowed values, default as (kind, value) or None)
nb::tuple attr_row(const AttrDef& attr) {
  std::optional<Attr> value = default_attr(attr);
  return nb::make_tuple(text(attr.name), text(base_kind(attr)), text(allowed_values(attr)),
                        value ? attr_to_python(*value) : nb::object(nb::none()));
}

nb::object op_row(const std::string& name) {
  const OpDef* def = standard_catalog().find(name);
  if (!def) return nb::none();
  nb::list inputs, outputs, attrs;
  for (const ArgDef& arg : def->inputs) inputs.append(arg_row(*def, arg));
  for (const ArgDef& arg : def->outputs) outputs.append(arg_row(*def, arg));
  for (const AttrDef& attr : def->attrs) attrs.append(attr_row(attr));
  return nb::make_tuple(text(def->name), text(def->doc), inputs, outputs, attrs, text(def->python));
}

// (samples, whether it is element-wise): what is compared with other implementations.
nb::tuple op_checks(const std::string& name) {
  const OpDef& def = standard_catalog().get(name);
  nb::list samples;
  for (std::string_view sample : def.samples) samples.append(text(sample));
  return nb::make_tuple(samples, def.block != nullptr);
}

nb::list op_names() {
  nb::list names;
  for (const OpDef* def : standard_catalog().all()) names.append(text(def->name));
  return names;
}

// {op: what its row says of its Python function}
nb::dict python_functions() {
  nb::dict functions;
  for (const OpDef* def : standard_catalog().all())
    if (!def->python.empty()) functions[text(def->name)] = text(def->python);
  return functions;
}

}  // namespace

void bind_catalog(nb::module_& m) {
  m.def("op_row", &op_row);
  m.def("op_names", &op_names);
  m.def("python_functions", &python_functions);
  m.def("nearest", [](const std::string& wrong, const std::vector<std::string>& names) {
    return nearest(wrong, names);
  });
  m.def("op_checks", &op_checks);
}

}  // namespace capstan
