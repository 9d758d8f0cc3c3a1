#include <algorithm>

#include "base/bytes.h"
#include "base/unlocked_copy.h"
#include "net/frame.h"

namespace capstan {
namespace {

// Up to here a copy is cheaper than another part of a scatter-gather call.
constexpr size_t kGatherBytes = 2048;
constexpr int kMaxParts = 64;

uint64_t string_payload(const Tensor& tensor) {
  uint64_t bytes = uint64_t(tensor.size()) * sizeof(uint64_t);
  for (int64_t i = 0; i < tensor.size(); ++i) bytes += tensor.data<std::string>()[i].size();
  return bytes;
}

TensorDescriptor describe(const Tensor& tensor, bool share_live, SharedPlaces* shared) {
  TensorDescriptor d;
  d.dtype = tensor.dtype();
  d.shape = tensor.shape();
  if (tensor.dtype() == DType::kString) {
    d.bytes = string_payload(tensor);
    return d;
  }
  d.bytes = tensor.bytes();
  if (tensor.valid() && dtype_size(tensor.dtype()) == 0) {
    throw invalid_argument("a tensor of {} cannot be sent to another task",
                           dtype_name(tensor.dtype()));
  }
  auto ref = shared && tensor.valid() ? shared->place(tensor, share_live) : std::nullopt;
  d.shared = ref.has_value();
  if (ref) d.ref = *ref;
  return d;
}

}  // namespace

void OutFrame::put_scratch(size_t offset) {
  size_t bytes = scratch_.size() - offset;
  left_ += bytes;
  if (!sections_.empty() && !sections_.back().data) {
    sections_.back().bytes += bytes;
  } else if (bytes > 0) {
    sections_.push_back({nullptr, offset, bytes});
  }
}

void OutFrame::put(const void* data, size_t bytes) {
  if (bytes == 0) return;
  if (bytes > kGatherBytes) {
    sections_.push_back({static_cast<const char*>(data), 0, bytes});
    left_ += bytes;
    return;
  }
  size_t offset = scratch_.size();
  scratch_.resize(offset + bytes);
  copy_unlocked(data, scratch_.data() + offset, bytes);
  put_scratch(offset);
}

void OutFrame::put_strings(const Tensor& tensor) {
  size_t offset = scratch_.size();
  const std::string* strings = tensor.data<std::string>();
  for (int64_t i = 0; i < tensor.size(); ++i) put_fixed64(scratch_, strings[i].size());
  put_scratch(offset);
  for (int64_t i = 0; i < tensor.size(); ++i) put(strings[i].data(), strings[i].size());
}

void OutFrame::put_tensor(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) {
    put_strings(tensor);
  } else {
    put(tensor.raw(), tensor.bytes());
  }
}

void OutFrame::encode(const Message& message, const FrameLimits& limits, SharedPlaces* shared) {
  scratch_.clear();
  sections_.clear();
  section_ = done_ = left_ = 0;

  FrameHeader header;
  put_header(scratch_, header);
  put_scratch(0);
  put(message.meta.data(), message.meta.size());

  size_t descriptors = scratch_.size();
  std::vector<bool> in_place;
  for (const Tensor& tensor : message.tensors) {
    TensorDescriptor d = describe(tensor, message.share_live, shared);
    in_place.push_back(!d.shared);
    if (!d.shared) header.payload_bytes += d.bytes;
    put_descriptor(scratch_, d);
  }
  header.descriptor_bytes = uint32_t(scratch_.size() - descriptors);
  put_scratch(descriptors);
  for (size_t i = 0; i < message.tensors.size(); ++i) {
    if (in_place[i]) put_tensor(message.tensors[i]);
  }

  header.type = message.type;
  header.tensors = uint32_t(message.tensors.size());
  header.meta_bytes = uint32_t(message.meta.size());
  header.call = message.call;
  header.session = message.session;
  header.incarnation = message.incarnation;
  if (left_ - kFrameHeaderBytes > limits.max_frame_bytes || message.meta.size() > UINT32_MAX ||
      message.tensors.size() > limits.max_tensors) {
    throw invalid_argument(
        "a message of {} tensors and {} bytes is beyond the limit of {} tensors and {} bytes "
        "(max_frame_bytes)",
        message.tensors.size(), left_, limits.max_tensors, limits.max_frame_bytes);
  }
  set_header(scratch_, header);
}

bool OutFrame::write(ByteStream& stream) {
  while (section_ < sections_.size()) {
    iovec parts[kMaxParts];
    int count = int(std::min(sections_.size() - section_, size_t(kMaxParts)));
    for (int i = 0; i < count; ++i) {
      const Section& s = sections_[section_ + size_t(i)];
      size_t skip = i == 0 ? done_ : 0;
      const char* data = s.data ? s.data : scratch_.data() + s.offset;
      parts[i] = {const_cast<char*>(data) + skip, s.bytes - skip};
    }
    size_t n = stream.write(parts, count);
    if (n == 0) return false;
    left_ -= n;
    for (done_ += n; section_ < sections_.size() && done_ >= sections_[section_].bytes;
         ++section_) {
      done_ -= sections_[section_].bytes;
    }
  }
  return true;
}

}  // namespace capstan
