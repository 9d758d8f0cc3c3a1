#pragma once

// Plain values between Python and the engine: element types as TensorFlow's numbers, shapes as
// tuples (None for unknown), attrs by their kind, numpy arrays by the buffer protocol (never
// numpy's C API, so that one extension serves every numpy).

#include <nanobind/nanobind.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "graph/attr.h"
#include "graph/op_def.h"
#include "tensor/tensor.h"

namespace capstan {

namespace nb = nanobind;

// An int, or a tf.DType (whose reference types count as their base).
DType dtype_from_python(nb::handle value);
// None (unknown rank), an int, a tf.TensorShape, or a sequence of int, None and tf.Dimension.
Shape shape_from_python(nb::handle value);
nb::object shape_to_python(const Shape& shape);

// str or bytes.
std::string bytes_from_python(nb::handle value);

Attr attr_from_python(const AttrDef& def, nb::handle value);
// For private attrs, which have no row: the kind follows from the value.
Attr attr_from_python(nb::handle value);
// (kind, value): "type" as a number, "shape" as a tuple, "tensor" as an array, "string" as bytes.
nb::object attr_to_python(const Attr& value);

// Numpy's callables, looked up once by whoever holds one of these.
class Numpy {
 public:
  Numpy();
  // A copy as numpy shows it: an array, a numpy scalar for rank 0, bytes for a scalar string.
  nb::object value(const Tensor& tensor) const;
  // The same, but rank 0 stays an array.
  nb::object array(const Tensor& tensor) const;
  // The bytes of a contiguous array of just this type, held by the result until it goes; nothing
  // when the value is not such an array.
  std::optional<Tensor> borrow(nb::handle value, DType dtype) const;
  // A copy of anything that numpy can make an array of.
  Tensor copy(nb::handle value, DType dtype = DType::kInvalid) const;
  // borrow(), else copy() of np.asarray(value, dtype).
  Tensor feed(nb::handle value, DType dtype) const;

 private:
  nb::object dtype_of(DType dtype) const;
  Tensor strings(nb::handle array) const;

  nb::object empty_, asarray_, ascontiguousarray_, object_dtype_;
  std::array<nb::object, 32> dtypes_, scalars_;
};

}  // namespace capstan
