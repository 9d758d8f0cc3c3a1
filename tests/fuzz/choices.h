#pragma once

// Turns the bytes of a fuzzer into choices. Bytes that ran out choose 0, so that every input means
// something and a shorter one means something simpler.

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace capstan {

class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  // In [0, count); 0 when count is 0.
  uint64_t below(uint64_t count) {
    if (count < 2) return 0;
    uint64_t value = byte();
    if (count > 256) value = value << 8 | byte();
    return value % count;
  }
  bool one_in(uint64_t count) { return below(count) == count - 1; }
  template <class T>
  T of(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }

 private:
  uint64_t byte() {
    if (bytes_.empty()) return 0;
    const auto value = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }

  std::string_view bytes_;
};

}  // namespace capstan
