#include "net/wire.h"

#include <cstring>

#include "base/bytes.h"

namespace capstan {
namespace {

constexpr uint32_t kMagic = 0x46535043;  // "CPSF"
enum Place : uint8_t { kInline = 0, kShared = 1 };

template <class T>
void store(char* at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) at[i] = char(value >> (8 * i));
}

// The bytes that a numeric tensor of this shape has; false when no memory could hold them.
bool numeric_bytes(DType dtype, const Shape& shape, uint64_t& out) {
  uint64_t n = dtype_size(dtype);
  for (int64_t dim : shape.dims()) {
    if (__builtin_mul_overflow(n, uint64_t(dim), &n)) return false;
  }
  out = n;
  return n <= (1ull << 62);
}

// A string costs at least the eight bytes of its length.
bool string_bytes_possible(const Shape& shape, uint64_t bytes) {
  uint64_t least = sizeof(uint64_t);
  for (int64_t dim : shape.dims()) {
    if (__builtin_mul_overflow(least, uint64_t(dim), &least)) return false;
  }
  return least <= bytes;
}

bool bytes_fit(const TensorDescriptor& d) {
  if (d.dtype == DType::kInvalid) return d.bytes == 0 && d.shape.rank() == 0 && !d.shared;
  if (d.dtype == DType::kString) return !d.shared && string_bytes_possible(d.shape, d.bytes);
  uint64_t bytes = 0;
  return numeric_bytes(d.dtype, d.shape, bytes) && bytes == d.bytes;
}

bool dtype_travels(int number) {
  if (number == int(DType::kInvalid)) return true;  // an absent value
  return dtype_known(number) && dtype_size(DType(number)) > 0;
}

bool take_dims(std::string_view& in, int rank, Shape& shape) {
  for (int i = 0; i < rank; ++i) {
    auto dim = take_fixed64(in);
    if (!dim || *dim > (1ull << 62)) return false;
    shape.push_back(int64_t(*dim));
  }
  return true;
}

bool take_ref(std::string_view& in, SharedRef& ref) {
  auto region = take_fixed64(in), offset = take_fixed64(in), sequence = take_fixed64(in);
  if (!sequence) return false;
  ref.region = *region;
  ref.offset = *offset;
  ref.sequence = *sequence;
  return true;
}

bool take_parts(std::string_view& in, TensorDescriptor& d) {
  auto fixed = take_bytes(in, 16);
  if (!fixed) return false;
  uint8_t dtype = uint8_t((*fixed)[0]), rank = uint8_t((*fixed)[1]), place = uint8_t((*fixed)[2]);
  if (!dtype_travels(dtype) || rank > Shape::kMaxRank || place > kShared) return false;
  d.dtype = DType(dtype);
  d.shared = place == kShared;
  d.ref.slot = load_fixed32(fixed->data() + 4);
  d.bytes = load_fixed64(fixed->data() + 8);
  return take_dims(in, rank, d.shape) && (!d.shared || take_ref(in, d.ref)) && bytes_fit(d);
}

}  // namespace

void put_header(std::string& out, const FrameHeader& header) {
  CAPSTAN_CHECK(out.empty());
  out.resize(kFrameHeaderBytes);
  set_header(out, header);
}

void set_header(std::string& out, const FrameHeader& header) {
  char* at = out.data();
  std::memset(at, 0, kFrameHeaderBytes);
  store<uint32_t>(at, kMagic);
  at[4] = char(kFrameVersion);
  at[5] = char(header.type);
  store<uint32_t>(at + 8, header.tensors);
  store<uint32_t>(at + 12, header.descriptor_bytes);
  store<uint32_t>(at + 16, header.meta_bytes);
  store<uint64_t>(at + 24, header.payload_bytes);
  store<uint64_t>(at + 32, header.call);
  store<uint64_t>(at + 40, header.session);
  store<uint64_t>(at + 48, header.incarnation);
}

FrameHeader read_header(const char* bytes, const FrameLimits& limits, std::string_view peer) {
  if (load_fixed32(bytes) != kMagic || uint8_t(bytes[4]) != kFrameVersion) {
    throw data_loss("{} sent bytes that are no frame; the connection is closed", peer);
  }
  FrameHeader h;
  h.type = uint8_t(bytes[5]);
  h.tensors = load_fixed32(bytes + 8);
  h.descriptor_bytes = load_fixed32(bytes + 12);
  h.meta_bytes = load_fixed32(bytes + 16);
  h.payload_bytes = load_fixed64(bytes + 24);
  h.call = load_fixed64(bytes + 32);
  h.session = load_fixed64(bytes + 40);
  h.incarnation = load_fixed64(bytes + 48);
  uint64_t rest = uint64_t(h.descriptor_bytes) + h.meta_bytes;
  if (h.payload_bytes > limits.max_frame_bytes || rest > limits.max_frame_bytes - h.payload_bytes) {
    throw resource_exhausted(
        "{} announced a frame of {} + {} bytes; the limit is {} (max_frame_bytes)", peer,
        h.payload_bytes, rest, limits.max_frame_bytes);
  }
  if (h.tensors > limits.max_tensors) {
    throw resource_exhausted("{} announced a frame of {} tensors; the limit is {} (max_tensors)",
                             peer, h.tensors, limits.max_tensors);
  }
  constexpr uint64_t kLargestDescriptor = 16 + 8 * Shape::kMaxRank + 24;
  if (h.descriptor_bytes > h.tensors * kLargestDescriptor) {
    throw data_loss("{} announced {} bytes that describe {} tensors", peer, h.descriptor_bytes,
                    h.tensors);
  }
  return h;
}

void put_descriptor(std::string& out, const TensorDescriptor& d) {
  char fixed[16] = {};
  fixed[0] = char(d.dtype);
  fixed[1] = char(d.shape.rank());
  fixed[2] = char(d.shared ? kShared : kInline);
  store<uint32_t>(fixed + 4, d.ref.slot);
  store<uint64_t>(fixed + 8, d.bytes);
  out.append(fixed, sizeof fixed);
  for (int64_t dim : d.shape.dims()) put_fixed64(out, uint64_t(dim));
  if (!d.shared) return;
  put_fixed64(out, d.ref.region);
  put_fixed64(out, d.ref.offset);
  put_fixed64(out, d.ref.sequence);
}

TensorDescriptor take_descriptor(std::string_view& in, std::string_view peer) {
  TensorDescriptor d;
  if (!take_parts(in, d)) {
    throw data_loss("{} sent a description that fits no tensor; the connection is closed", peer);
  }
  return d;
}

}  // namespace capstan
