#pragma once

// What travels in one frame. net knows the tensors; type and meta belong to the caller, but for the
// few types that net keeps for itself.

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"

namespace capstan {

// Types below this one are net's own.
constexpr uint8_t kFirstFreeMessageType = 16;
constexpr uint8_t kErrorMessage = 1;

struct Message {
  uint8_t type = 0;
  // Lends live blocks of a SharedArena to the peer instead of copying them; not on the wire.
  bool share_live = false;
  uint64_t call = 0;
  uint64_t session = 0;
  uint64_t incarnation = 0;
  std::string meta;
  std::vector<Tensor> tensors;
};

// The frame in which an Error travels whole: code, message, op, task.
Message error_reply(const Message& request, const Error& error);
// The Error in such a frame; DataLoss when it cannot be read.
Error error_of(const Message& message);
// Throws the Error when the message carries one.
void throw_if_error(const Message& message);

}  // namespace capstan
