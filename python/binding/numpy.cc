#include <cstring>

#include "convert.h"
#include "gil.h"

namespace capstan {
namespace {

struct NumpyName {
  DType dtype;
  const char* name;
};
constexpr NumpyName kNames[] = {
    {DType::kFloat, "float32"}, {DType::kDouble, "float64"},      {DType::kInt32, "int32"},
    {DType::kUInt8, "uint8"},   {DType::kInt16, "int16"},         {DType::kInt8, "int8"},
    {DType::kInt64, "int64"},   {DType::kBool, "bool_"},          {DType::kUInt16, "uint16"},
    {DType::kHalf, "float16"},  {DType::kComplex64, "complex64"}, {DType::kUInt32, "uint32"},
    {DType::kUInt64, "uint64"},
};

// A view of an array, given back when the last tensor that points into it goes; that may happen on
// a thread of the engine, hence the lock.
class HeldBuffer {
 public:
  ~HeldBuffer() {
    if (!held_) return;
    if (GilAcquire gil; gil) PyBuffer_Release(&view_);
  }
  bool get(PyObject* object, int flags) {
    held_ = PyObject_GetBuffer(object, &view_, flags) == 0;
    if (!held_) PyErr_Clear();
    return held_;
  }
  const Py_buffer& view() const { return view_; }

 private:
  Py_buffer view_{};
  bool held_ = false;
};

DType signed_of_size(Py_ssize_t size) {
  return size == 1   ? DType::kInt8
         : size == 2 ? DType::kInt16
         : size == 4 ? DType::kInt32
                     : DType::kInt64;
}

DType unsigned_of_size(Py_ssize_t size) {
  return size == 1   ? DType::kUInt8
         : size == 2 ? DType::kUInt16
         : size == 4 ? DType::kUInt32
                     : DType::kUInt64;
}

// kInvalid for what has no counterpart: other byte orders, structures, long double.
DType dtype_of_format(const char* format, Py_ssize_t size) {
  if (!format) return DType::kUInt8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (!std::strcmp(format, "Zf")) return DType::kComplex64;
  if (!*format || format[1]) return DType::kInvalid;
  switch (*format) {
    case 'f': return DType::kFloat;
    case 'd': return DType::kDouble;
    case 'e': return DType::kHalf;
    case '?': return DType::kBool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q': return signed_of_size(size);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q': return unsigned_of_size(size);
    default: return DType::kInvalid;
  }
}

Shape shape_of_view(const Py_buffer& view) {
  if (view.ndim > Shape::kMaxRank) {
    throw unimplemented("an array of {} dimensions: at most {} are possible", view.ndim,
                        Shape::kMaxRank);
  }
  Shape shape;
  for (int i = 0; i < view.ndim; ++i) shape.push_back(view.shape[i]);
  return shape;
}

nb::object bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

nb::object number_of(const Tensor& t) {
  switch (t.dtype()) {
    case DType::kFloat: return nb::float_(double(*t.data<float>()));
    case DType::kDouble: return nb::float_(*t.data<double>());
    case DType::kInt32: return nb::int_(*t.data<int32_t>());
    case DType::kInt64: return nb::int_(*t.data<int64_t>());
    case DType::kBool: return nb::bool_(*t.data<bool>());
    default: return {};
  }
}

void copy_into_array(const Tensor& tensor, nb::handle array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS)) {
    throw nb::python_error();
  }
  if (tensor.bytes()) std::memcpy(view.buf, tensor.raw(), tensor.bytes());
  PyBuffer_Release(&view);
}

// Elements converted as numpy's assignment does; false for pairs that are left to numpy.
template <class To, class From>
void convert_block(const void* from, void* to, int64_t count) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(in[i]);
}

template <class To>
bool convert_to(DType from_type, const void* from, void* to, int64_t count) {
  switch (from_type) {
    case DType::kFloat: convert_block<To, float>(from, to, count); return true;
    case DType::kDouble: convert_block<To, double>(from, to, count); return true;
    case DType::kInt32: convert_block<To, int32_t>(from, to, count); return true;
    case DType::kInt64: convert_block<To, int64_t>(from, to, count); return true;
    case DType::kUInt8: convert_block<To, uint8_t>(from, to, count); return true;
    default: return false;
  }
}

bool convert_elements(DType from_type, const void* from, Tensor& to) {
  switch (to.dtype()) {
    case DType::kFloat: return convert_to<float>(from_type, from, to.raw(), to.size());
    case DType::kDouble: return convert_to<double>(from_type, from, to.raw(), to.size());
    // Out of range, a floating-point number has no integer: numpy decides.
    case DType::kInt32:
    case DType::kInt64:
      if (is_floating(from_type)) return false;
      return to.dtype() == DType::kInt32
                 ? convert_to<int32_t>(from_type, from, to.raw(), to.size())
                 : convert_to<int64_t>(from_type, from, to.raw(), to.size());
    default: return false;
  }
}

// A Python number as a scalar of this type; nothing for other objects, which numpy then judges.
std::optional<Tensor> scalar_of(nb::handle value, DType dtype) {
  if (!PyFloat_CheckExact(value.ptr())) return {};
  double number = PyFloat_AS_DOUBLE(value.ptr());
  if (dtype == DType::kFloat) return Tensor::scalar(float(number));
  if (dtype == DType::kDouble) return Tensor::scalar(number);
  return {};
}

}  // namespace

Numpy::Numpy() {
  nb::module_ numpy = nb::module_::import_("numpy");
  empty_ = numpy.attr("empty");
  asarray_ = numpy.attr("asarray");
  ascontiguousarray_ = numpy.attr("ascontiguousarray");
  object_dtype_ = numpy.attr("dtype")("object");
  for (const NumpyName& item : kNames) {
    scalars_[size_t(item.dtype)] = numpy.attr(item.name);
    dtypes_[size_t(item.dtype)] = numpy.attr("dtype")(numpy.attr(item.name));
  }
}

nb::object Numpy::dtype_of(DType dtype) const {
  if (dtype == DType::kString) return object_dtype_;
  const nb::object& found = dtypes_[size_t(dtype)];
  if (!found.is_valid()) throw unimplemented("numpy has no {}", dtype_name(dtype));
  return found;
}

nb::object Numpy::array(const Tensor& tensor) const {
  nb::object shape = shape_to_python(tensor.shape());
  nb::object array = empty_(shape, dtype_of(tensor.dtype()));
  if (tensor.dtype() != DType::kString) {
    copy_into_array(tensor, array);
    return array;
  }
  nb::object flat = array.attr("reshape")(-1);
  for (int64_t i = 0; i < tensor.size(); ++i)
    flat[nb::int_(i)] = bytes_of(tensor.data<std::string>()[i]);
  return array;
}

nb::object Numpy::value(const Tensor& tensor) const {
  if (tensor.shape().rank() != 0) return array(tensor);
  if (tensor.dtype() == DType::kString) return bytes_of(*tensor.data<std::string>());
  nb::object number = number_of(tensor);
  if (number.is_valid()) return scalars_[size_t(tensor.dtype())](number);
  return array(tensor)[nb::tuple()];
}

std::optional<Tensor> Numpy::borrow(nb::handle value, DType dtype) const {
  if (!PyObject_CheckBuffer(value.ptr()) || PyBytes_Check(value.ptr())) return {};
  auto held = std::make_shared<HeldBuffer>();
  if (!held->get(value.ptr(), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) return {};
  const Py_buffer& view = held->view();
  DType found = dtype_of_format(view.format, view.itemsize);
  if (found == DType::kInvalid || dtype == DType::kString) return {};
  Shape shape = shape_of_view(view);
  if (found == dtype) return Tensor(dtype, shape, view.buf, std::move(held));
  Tensor converted(dtype, shape);
  if (convert_elements(found, view.buf, converted)) return converted;
  return {};
}

Tensor Numpy::strings(nb::handle array) const {
  Tensor tensor(DType::kString, shape_from_python(array.attr("shape")));
  nb::list flat(array.attr("ravel")().attr("tolist")());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.data<std::string>()[i] = bytes_from_python(flat[size_t(i)]);
  }
  return tensor;
}

Tensor Numpy::copy(nb::handle value, DType dtype) const {
  // Strings as objects: numpy's own kinds of text end at the last byte that is not zero.
  nb::object array = call_program([&] {
    return dtype == DType::kInvalid ? asarray_(value) : asarray_(value, dtype_of(dtype));
  });
  std::string kind = nb::cast<std::string>(nb::str(array.attr("dtype").attr("kind")));
  if (dtype == DType::kString || kind == "O" || kind == "S" || kind == "U") return strings(array);
  // ascontiguousarray would make a vector of a scalar.
  nb::object dims = array.attr("shape");
  nb::object contiguous = call_program([&] { return ascontiguousarray_(array); });
  HeldBuffer held;
  if (!held.get(contiguous.ptr(), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
    throw invalid_argument("numpy's {} has no counterpart here",
                           nb::str(array.attr("dtype")).c_str());
  }
  DType found = dtype_of_format(held.view().format, held.view().itemsize);
  if (found == DType::kInvalid) {
    throw invalid_argument("numpy's {} has no counterpart here",
                           nb::str(array.attr("dtype")).c_str());
  }
  Tensor tensor(found, shape_from_python(dims));
  if (tensor.bytes()) std::memcpy(tensor.raw(), held.view().buf, tensor.bytes());
  return tensor;
}

Tensor Numpy::feed(nb::handle value, DType dtype) const {
  if (std::optional<Tensor> tensor = borrow(value, dtype)) return *std::move(tensor);
  if (std::optional<Tensor> tensor = scalar_of(value, dtype)) return *std::move(tensor);
  return copy(value, dtype);
}

}  // namespace capstan
