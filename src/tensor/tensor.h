#pragma once

// A value: element type, shape, and a shared handle on bytes. Copying a Tensor shares the bytes;
// clone() copies them. Row-major, 64-byte aligned when allocated here. String tensors hold
// std::string elements.

#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace capstan {

class Tensor {
 public:
  Tensor() = default;  // kInvalid, no bytes
  // Uninitialised numbers, empty strings.
  Tensor(DType dtype, const Shape& shape);
  // Bytes that somebody else owns; kept alive by owner (which may be null for static lifetime).
  Tensor(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner);
  // Bytes that must not be written: a peer's memory, mapped read-only.
  static Tensor view(DType dtype, const Shape& shape, const void* data,
                     std::shared_ptr<void> owner) {
    return Tensor(dtype, shape, const_cast<void*>(data), std::move(owner)).sealed();
  }

  template <class T>
  static Tensor scalar(T value) {
    Tensor t(DTypeOf<T>::value, Shape{});
    *t.data<T>() = std::move(value);
    return t;
  }
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values) {
    Tensor t(DTypeOf<T>::value, shape);
    if (t.size() != int64_t(values.size())) {
      throw invalid_argument("{} values do not fill a tensor of shape {}", values.size(), shape);
    }
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
  }

  bool valid() const { return dtype_ != DType::kInvalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  size_t bytes() const { return size_t(size_) * dtype_size(dtype_); }

  // The element type is not checked here: kernels check once, at plan time.
  template <class T>
  T* data() {
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  void* raw() { return data_; }
  const void* raw() const { return data_; }
  const std::shared_ptr<void>& owner() const { return owner_; }
  // False: nobody changes the bytes any more, not even the only one who holds them.
  bool writable() const { return writable_; }
  // The same bytes, which are final now: whoever holds the tensor may keep it as it is.
  Tensor sealed() const {
    Tensor out = *this;
    out.writable_ = false;
    return out;
  }

  // Same bytes under another shape of as many elements; throws InvalidArgument otherwise.
  Tensor reshaped(const Shape& shape) const;
  Tensor clone() const;
  // Same dtype, shape and elements (bitwise for numbers).
  bool equals(const Tensor& other) const;
  // At most `limit` elements, for messages: "[1 2 3 ...]".
  std::string text(int64_t limit = 8) const;

 private:
  DType dtype_ = DType::kInvalid;
  bool writable_ = true;
  Shape shape_;
  int64_t size_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

}  // namespace capstan
