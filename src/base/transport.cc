#include "base/transport.h"

namespace capstan {
namespace {

constexpr std::string_view kNames[] = {"auto", "tcp", "unix", "shm"};

}  // namespace

std::optional<TransportKind> transport_kind_from(std::string_view text) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == text) return TransportKind(i);
  }
  return std::nullopt;
}

std::string_view transport_kind_name(TransportKind kind) { return kNames[size_t(kind)]; }

}  // namespace capstan
