#pragma once

// The bytes of a frame: a fixed header and one descriptor per tensor. docs/formats/wire.md is the
// page of this format. Whatever is read here came from a peer: it is checked before it is used.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace capstan {

struct FrameLimits {
  uint64_t max_frame_bytes = 4ull << 30;  // everything after the header, tensors in place included
  uint32_t max_tensors = 65536;
};

constexpr size_t kFrameHeaderBytes = 64;
constexpr uint8_t kFrameVersion = 1;

struct FrameHeader {
  uint8_t type = 0;
  uint32_t tensors = 0;
  uint32_t descriptor_bytes = 0;
  uint32_t meta_bytes = 0;
  uint64_t payload_bytes = 0;
  uint64_t call = 0, session = 0, incarnation = 0;
};

void put_header(std::string& out, const FrameHeader& header);
// Writes the header over the first bytes of `out`, which has room for it.
void set_header(std::string& out, const FrameHeader& header);
// Throws DataLoss for what is no frame, ResourceExhausted beyond a limit; both name the peer.
FrameHeader read_header(const char* bytes, const FrameLimits& limits, std::string_view peer);

// Where a tensor's bytes lie when they do not follow in the frame: in a region of shared memory
// that the sender owns. The receiver stores `sequence` in its slot `slot` when it is done with
// them.
struct SharedRef {
  uint64_t region = 0;
  uint64_t offset = 0;
  uint64_t sequence = 0;
  uint32_t slot = 0;
};

struct TensorDescriptor {
  DType dtype = DType::kInvalid;
  bool shared = false;
  Shape shape;
  uint64_t bytes = 0;  // in the payload, or in the region
  SharedRef ref;       // when shared
};

void put_descriptor(std::string& out, const TensorDescriptor& descriptor);
// Shortens `in`. Throws DataLoss naming the peer for anything that cannot be a tensor.
TensorDescriptor take_descriptor(std::string_view& in, std::string_view peer);

}  // namespace capstan
