#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <climits>

#include "graph/graph_def.h"
#include "graph/proto_convert.h"

namespace capstan {
namespace {

// The smallest step in which hostile fills are counted: even empty elements cost something.
uint64_t bytes_for(DType dtype, int64_t elements) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(uint64_t(elements), uint64_t(dtype_size(dtype)), &bytes))
    return UINT64_MAX;
  return bytes;
}

// Values in the order of the shape; a list that is too short repeats its last value, an empty one
// stands for zeros.
template <class T, class List>
Tensor fill_from(const List& list, DType dtype, const Shape& shape, FillBudget& budget) {
  int64_t size = shape.elements(), given = list.size();
  if (given > size) {
    throw invalid_argument("a tensor of shape {} is given {} values", shape, given);
  }
  if (size > given) budget.take(bytes_for(dtype, size));
  Tensor out(dtype, shape);
  T* to = out.data<T>();
  for (int64_t i = 0; i < given; ++i) to[i] = T(list[int(i)]);
  std::fill(to + given, to + size, given ? to[given - 1] : T());
  return out;
}

Tensor complex_from(const pb::TensorProto& in, const Shape& shape, FillBudget& budget) {
  std::vector<std::complex<float>> pairs;
  for (int i = 0; i + 1 < in.scomplex_val_size(); i += 2) {
    pairs.emplace_back(in.scomplex_val(i), in.scomplex_val(i + 1));
  }
  return fill_from<std::complex<float>>(pairs, DType::kComplex64, shape, budget);
}

Tensor from_values(const pb::TensorProto& in, DType dtype, const Shape& shape, FillBudget& budget) {
  switch (dtype) {
    case DType::kFloat: return fill_from<float>(in.float_val(), dtype, shape, budget);
    case DType::kDouble: return fill_from<double>(in.double_val(), dtype, shape, budget);
    case DType::kInt32: return fill_from<int32_t>(in.int_val(), dtype, shape, budget);
    case DType::kUInt8: return fill_from<uint8_t>(in.int_val(), dtype, shape, budget);
    case DType::kInt16: return fill_from<int16_t>(in.int_val(), dtype, shape, budget);
    case DType::kInt8: return fill_from<int8_t>(in.int_val(), dtype, shape, budget);
    case DType::kUInt16: return fill_from<uint16_t>(in.int_val(), dtype, shape, budget);
    case DType::kHalf: return fill_from<uint16_t>(in.half_val(), dtype, shape, budget);
    case DType::kInt64: return fill_from<int64_t>(in.int64_val(), dtype, shape, budget);
    case DType::kUInt32: return fill_from<uint32_t>(in.uint32_val(), dtype, shape, budget);
    case DType::kUInt64: return fill_from<uint64_t>(in.uint64_val(), dtype, shape, budget);
    case DType::kBool: return fill_from<bool>(in.bool_val(), dtype, shape, budget);
    case DType::kString: return fill_from<std::string>(in.string_val(), dtype, shape, budget);
    case DType::kComplex64: return complex_from(in, shape, budget);
    default:
      throw invalid_argument("a tensor of type {} cannot stand in a file", dtype_name(dtype));
  }
}

Tensor from_content(const std::string& content, DType dtype, const Shape& shape) {
  uint64_t expected = bytes_for(dtype, shape.elements());
  if (dtype == DType::kString || dtype_size(dtype) == 0 || content.size() != expected) {
    throw invalid_argument("{} bytes do not make a tensor of type {} and shape {}", content.size(),
                           dtype_name(dtype), shape);
  }
  Tensor out(dtype, shape);
  std::memcpy(out.raw(), content.data(), content.size());
  if (dtype == DType::kBool) {
    // A bool that is neither 0 nor 1 must not get into the program.
    auto* bytes = static_cast<uint8_t*>(out.raw());
    std::transform(bytes, bytes + out.size(), bytes, [](uint8_t b) { return uint8_t(b != 0); });
  }
  return out;
}

}  // namespace

void FillBudget::take(uint64_t bytes) {
  if (bytes > left_) {
    throw resource_exhausted("a message of few bytes describes tensors of more than {} bytes",
                             kMaxFillBytes);
  }
  left_ -= bytes;
}

bool parse_quietly(std::string_view bytes, google::protobuf::MessageLite& out) {
  google::protobuf::LogSilencer silence;
  return bytes.size() <= INT_MAX && out.ParseFromArray(bytes.data(), int(bytes.size()));
}

void write_shape(const Shape& shape, pb::TensorShapeProto* out) {
  out->set_unknown_rank(!shape.known_rank());
  for (int64_t dim : shape.dims()) out->add_dim()->set_size(dim);
}

Shape read_shape(const pb::TensorShapeProto& in) {
  if (in.unknown_rank()) {
    if (in.dim_size())
      throw invalid_argument("a shape of unknown rank has {} dimensions", in.dim_size());
    return Shape::unknown();
  }
  if (in.dim_size() > Shape::kMaxRank) {
    throw invalid_argument("a shape of {} dimensions; at most {} are supported", in.dim_size(),
                           Shape::kMaxRank);
  }
  Shape shape;
  for (const auto& dim : in.dim()) {
    if (dim.size() < -1) throw invalid_argument("a shape cannot have the dimension {}", dim.size());
    shape.push_back(dim.size());
  }
  return shape;
}

DType read_dtype(int number) {
  if (!dtype_known(number))
    throw invalid_argument("the element type number {} is not supported", number);
  return DType(number);
}

void write_tensor(const Tensor& tensor, pb::TensorProto* out) {
  out->set_dtype(pb::DataType(int(tensor.dtype())));
  write_shape(tensor.shape(), out->mutable_tensor_shape());
  if (tensor.dtype() != DType::kString) {
    if (tensor.bytes()) out->set_tensor_content(tensor.raw(), tensor.bytes());
    return;
  }
  for (int64_t i = 0; i < tensor.size(); ++i) out->add_string_val(tensor.data<std::string>()[i]);
}

Tensor read_tensor(const pb::TensorProto& in, FillBudget& budget) {
  DType dtype = read_dtype(in.dtype());
  Shape shape = read_shape(in.tensor_shape());
  if (!shape.fully_defined()) throw invalid_argument("a tensor cannot have the shape {}", shape);
  if (!in.tensor_content().empty()) return from_content(in.tensor_content(), dtype, shape);
  return from_values(in, dtype, shape, budget);
}

std::string to_tensor_proto(const Tensor& tensor) {
  pb::TensorProto proto;
  write_tensor(tensor, &proto);
  return proto.SerializeAsString();
}

Tensor from_tensor_proto(std::string_view bytes) {
  pb::TensorProto proto;
  if (!parse_quietly(bytes, proto)) {
    throw invalid_argument("{} bytes that are not a TensorProto", bytes.size());
  }
  FillBudget budget(kMaxFillBytes);
  return read_tensor(proto, budget);
}

}  // namespace capstan
