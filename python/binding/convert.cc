#include "convert.h"

#include "graph/attr_kind.h"

namespace capstan {
namespace {

int64_t int_from_python(nb::handle value) {
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

double float_from_python(nb::handle value) {
  double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

bool bool_from_python(nb::handle value) {
  int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) throw nb::python_error();
  return truth;
}

// A dimension: int, None, or an object with .value (tf.Dimension).
int64_t dim_from_python(nb::handle value) {
  if (value.is_none()) return -1;
  if (PyLong_Check(value.ptr())) return int_from_python(value);
  if (nb::hasattr(value, "value")) return dim_from_python(value.attr("value"));
  return int_from_python(value);
}

template <class T>
T one_from_python(nb::handle value) {
  if constexpr (std::is_same_v<T, int64_t>) return int_from_python(value);
  if constexpr (std::is_same_v<T, float>) return float(float_from_python(value));
  if constexpr (std::is_same_v<T, bool>) return bool_from_python(value);
  if constexpr (std::is_same_v<T, std::string>) return bytes_from_python(value);
  if constexpr (std::is_same_v<T, DType>) return dtype_from_python(value);
  if constexpr (std::is_same_v<T, Shape>) return shape_from_python(value);
}

template <class T>
std::vector<T> list_from_python(nb::handle value) {
  std::vector<T> items;
  for (nb::handle item : nb::iter(value)) items.push_back(one_from_python<T>(item));
  return items;
}

template <class T>
nb::object one_to_python(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return nb::bytes(value.data(), value.size());
  else if constexpr (std::is_same_v<T, DType>)
    return nb::int_(int(value));
  else if constexpr (std::is_same_v<T, Shape>)
    return shape_to_python(value);
  else if constexpr (std::is_same_v<T, Tensor>)
    return Numpy().array(value);
  else if constexpr (std::is_same_v<T, bool>)
    return nb::bool_(value);
  else if constexpr (std::is_same_v<T, float>)
    return nb::float_(double(value));
  else
    return nb::int_(value);
}

template <class T>
nb::object one_to_python(const std::vector<T>& values) {
  nb::list items;
  for (size_t i = 0; i < values.size(); ++i) items.append(one_to_python<T>(T(values[i])));
  return items;
}

bool is_text(nb::handle value) {
  return PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr());
}

}  // namespace

DType dtype_from_python(nb::handle value) {
  int64_t number = PyLong_Check(value.ptr()) ? int_from_python(value)
                                             : int_from_python(value.attr("as_datatype_enum"));
  number %= 100;  // reference types stand a hundred above their base
  if (!dtype_known(int(number))) {
    throw unimplemented("element type {} does not exist here", nb::str(value).c_str());
  }
  return DType(number);
}

Shape shape_from_python(nb::handle value) {
  if (value.is_none()) return Shape::unknown();
  if (nb::hasattr(value, "_dims")) return shape_from_python(value.attr("_dims"));
  if (PyLong_Check(value.ptr())) return Shape({int_from_python(value)});
  std::vector<int64_t> dims;
  for (nb::handle item : nb::iter(value)) dims.push_back(dim_from_python(item));
  return Shape(std::span<const int64_t>(dims));
}

nb::object shape_to_python(const Shape& shape) {
  if (!shape.known_rank()) return nb::none();
  nb::object dims = nb::steal(PyTuple_New(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) {
    nb::object dim = shape[i] < 0 ? nb::object(nb::none()) : nb::object(nb::int_(shape[i]));
    PyTuple_SET_ITEM(dims.ptr(), i, dim.release().ptr());
  }
  return dims;
}

std::string bytes_from_python(nb::handle value) {
  if (PyBytes_Check(value.ptr())) {
    return std::string(PyBytes_AS_STRING(value.ptr()), size_t(PyBytes_GET_SIZE(value.ptr())));
  }
  Py_ssize_t size = 0;
  const char* text =
      PyUnicode_Check(value.ptr()) ? PyUnicode_AsUTF8AndSize(value.ptr(), &size) : nullptr;
  if (!text && PyErr_Occurred()) throw nb::python_error();
  if (!text) throw nb::type_error("expected str or bytes");
  return std::string(text, size_t(size));
}

Attr attr_from_python(const AttrDef& def, nb::handle value) {
  std::string_view kind = base_kind(def);
  if (kind == "int") return int_from_python(value);
  if (kind == "float") return float(float_from_python(value));
  if (kind == "bool") return bool_from_python(value);
  if (kind == "string") return bytes_from_python(value);
  if (kind == "type") return dtype_from_python(value);
  if (kind == "shape") return shape_from_python(value);
  if (kind == "tensor") return Numpy().copy(value);
  if (kind == "list(int)") return list_from_python<int64_t>(value);
  if (kind == "list(float)") return list_from_python<float>(value);
  if (kind == "list(bool)") return list_from_python<bool>(value);
  if (kind == "list(string)") return list_from_python<std::string>(value);
  if (kind == "list(type)") return list_from_python<DType>(value);
  if (kind == "list(shape)") return list_from_python<Shape>(value);
  throw unimplemented("attr '{}' of kind '{}' cannot be given from Python", def.name, kind);
}

Attr attr_from_python(nb::handle value) {
  if (PyBool_Check(value.ptr())) return bool_from_python(value);
  if (PyLong_Check(value.ptr())) return int_from_python(value);
  if (PyFloat_Check(value.ptr())) return float(float_from_python(value));
  if (is_text(value)) return bytes_from_python(value);
  if (nb::hasattr(value, "as_datatype_enum")) return dtype_from_python(value);
  nb::list items(value);
  if (items.size() == 0 || is_text(items[0])) return list_from_python<std::string>(items);
  if (PyFloat_Check(nb::object(items[0]).ptr())) return list_from_python<float>(items);
  return list_from_python<int64_t>(items);
}

nb::object attr_to_python(const Attr& value) {
  nb::object plain = std::visit([](const auto& v) { return one_to_python(v); }, value);
  std::string_view kind = kind_of(value);
  return nb::make_tuple(nb::str(kind.data(), kind.size()), plain);
}

}  // namespace capstan
