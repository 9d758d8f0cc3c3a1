#pragma once

// Attribute values of a node and the small sorted map that holds them.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace capstan {

using Attr = std::variant<int64_t, float, bool, std::string, DType, Shape, Tensor,
                          std::vector<int64_t>, std::vector<float>, std::vector<bool>,
                          std::vector<std::string>, std::vector<DType>, std::vector<Shape>>;

class AttrMap {
 public:
  AttrMap() = default;
  AttrMap(std::initializer_list<std::pair<const std::string, Attr>> items) : items_(items) {}

  bool has(std::string_view name) const { return items_.find(name) != items_.end(); }
  const Attr* find(std::string_view name) const;
  void set(std::string name, Attr value) {
    items_.insert_or_assign(std::move(name), std::move(value));
  }
  void erase(std::string_view name);

  // The value as T; throws InvalidArgument naming the attr when it is absent or of another kind.
  template <class T>
  const T& get(std::string_view name) const {
    const Attr* attr = find(name);
    const T* value = attr ? std::get_if<T>(attr) : nullptr;
    if (!value) bad(name, attr != nullptr);
    return *value;
  }
  // The value as T, or `otherwise` when absent.
  template <class T>
  T get_or(std::string_view name, T otherwise) const {
    return has(name) ? get<T>(name) : otherwise;
  }

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  size_t size() const { return items_.size(); }

 private:
  [[noreturn]] static void bad(std::string_view name, bool present);
  std::map<std::string, Attr, std::less<>> items_;
};

}  // namespace capstan
