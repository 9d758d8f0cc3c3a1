#include "tensor/tensor.h"

#include <algorithm>
#include <cstdlib>

#include "tensor/memory.h"

namespace capstan {
namespace {

std::shared_ptr<void> allocate(DType dtype, int64_t size) {
  if (dtype_size(dtype) == 0) {
    throw invalid_argument("a tensor cannot hold elements of type {}", dtype_name(dtype));
  }
  const size_t bytes = size_t(size) * dtype_size(dtype);  // Shape::kMaxElements of any type fit
  if (bytes > (1ull << 46)) {
    throw resource_exhausted("a tensor of {} elements of {} is too large", size, dtype_name(dtype));
  }
  void* data = allocate_bytes(bytes);
  if (!data) throw resource_exhausted("cannot allocate {} bytes for a tensor", bytes);
  if (dtype != DType::kString) return {data, std::free};
  auto* strings = static_cast<std::string*>(data);
  std::uninitialized_value_construct_n(strings, size);
  return {data, [strings, size](void*) {
            std::destroy_n(strings, size);
            std::free(strings);
          }};
}

template <class T>
std::string join(const T* data, int64_t n) {
  std::string out;
  for (int64_t i = 0; i < n; ++i) out += fmt::format("{}{}", i ? " " : "", data[i]);
  return out;
}

std::string elements_text(const Tensor& t, int64_t n) {
  switch (t.dtype()) {
    case DType::kFloat: return join(t.data<float>(), n);
    case DType::kDouble: return join(t.data<double>(), n);
    case DType::kInt32: return join(t.data<int32_t>(), n);
    case DType::kInt64: return join(t.data<int64_t>(), n);
    case DType::kUInt8: return join(t.data<uint8_t>(), n);
    case DType::kBool: return join(t.data<bool>(), n);
    case DType::kString: return join(t.data<std::string>(), n);
    default: return fmt::format("{} x {}", n, dtype_name(t.dtype()));
  }
}

}  // namespace

Tensor::Tensor(DType dtype, const Shape& shape)
    : dtype_(dtype), shape_(shape), size_(shape.elements()), owner_(allocate(dtype, size_)) {
  data_ = owner_.get();
}

Tensor::Tensor(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner)
    : dtype_(dtype),
      shape_(shape),
      size_(shape.elements()),
      data_(data),
      owner_(std::move(owner)) {}

Tensor Tensor::reshaped(const Shape& shape) const {
  Tensor out = *this;
  if (shape.elements() != size_) {
    throw invalid_argument("cannot view {} elements of shape {} as {}", size_, shape_, shape);
  }
  out.shape_ = shape;
  return out;
}

Tensor Tensor::clone() const {
  if (!valid()) return {};
  Tensor out(dtype_, shape_);
  if (dtype_ == DType::kString) {
    std::copy_n(data<std::string>(), size_, out.data<std::string>());
  } else if (size_) {
    std::memcpy(out.data_, data_, bytes());
  }
  return out;
}

bool Tensor::equals(const Tensor& other) const {
  if (dtype_ != other.dtype_ || !(shape_ == other.shape_)) return false;
  if (dtype_ == DType::kString) {
    return std::equal(data<std::string>(), data<std::string>() + size_, other.data<std::string>());
  }
  return size_ == 0 || std::memcmp(data_, other.data_, bytes()) == 0;
}

std::string Tensor::text(int64_t limit) const {
  int64_t n = std::min(limit, size_);
  return fmt::format("[{}{}]", elements_text(*this, n), n < size_ ? " ..." : "");
}

}  // namespace capstan
