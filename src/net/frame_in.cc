#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "net/frame.h"

namespace capstan {
namespace {

constexpr size_t kBufferBytes = 64 << 10;
constexpr int kMaxParts = 32;
// What is smaller than this needs no admission.
constexpr uint64_t kLargePayload = 1 << 20;
constexpr uint64_t kLargestKept = 8 << 20;

}  // namespace

FrameReader::FrameReader(FrameLimits limits, std::string peer, SharedPlaces* shared)
    : limits_(limits), peer_(std::move(peer)), shared_(shared), buffer_(kBufferBytes) {}

bool FrameReader::next(ByteStream& stream, Message& out) {
  if (state_ == State::kHeader) {
    if (!read_header(stream)) return false;
    begin_meta();
  }
  if (state_ == State::kMeta) {
    if (!read_text(stream, message_.meta, header_.meta_bytes)) return false;
    state_ = State::kDescriptors;
  }
  if (state_ == State::kDescriptors) {
    if (!read_text(stream, descriptors_, header_.descriptor_bytes)) return false;
    read_descriptors();
    state_ = State::kAdmission;
  }
  if (state_ == State::kAdmission) {
    if (!admitted()) return false;
    begin_payload();
  }
  if (!fill(stream)) return false;
  decode_strings();
  out = std::move(message_);
  message_ = {};
  ticket_.reset();
  state_ = State::kHeader;
  return true;
}

bool FrameReader::read_header(ByteStream& stream) {
  while (end_ - begin_ < kFrameHeaderBytes) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= std::exchange(begin_, 0);
    }
    iovec part = {buffer_.data() + end_, buffer_.size() - end_};
    size_t n = stream.read(&part, 1);
    if (n == 0) return false;
    bytes_read_ += n;
    end_ += n;
  }
  header_ = capstan::read_header(buffer_.data() + begin_, limits_, peer_);
  begin_ += kFrameHeaderBytes;
  return true;
}

void FrameReader::begin_meta() {
  message_.type = header_.type;
  message_.call = header_.call;
  message_.session = header_.session;
  message_.incarnation = header_.incarnation;
  descriptors_.clear();
  targets_.clear();
  target_ = 0;
  state_ = State::kMeta;
}

// Memory grows with what has arrived, not with what was announced.
bool FrameReader::read_text(ByteStream& stream, std::string& text, size_t bytes) {
  constexpr size_t kFirst = 64 << 10;
  for (;;) {
    if (!fill(stream)) return false;
    if (text.size() == bytes) return true;
    const size_t old = text.size();
    text.resize(std::min(bytes, std::max(kFirst, 2 * old)));
    targets_.assign({{text.data() + old, text.size() - old}});
    target_ = 0;
  }
}

void FrameReader::read_descriptors() {
  described_.clear();
  std::string_view in = descriptors_;
  uint64_t inline_bytes = 0;
  // All are checked before memory is taken for the first.
  for (uint32_t i = 0; i < header_.tensors; ++i) {
    TensorDescriptor d = take_descriptor(in, peer_);
    bool overflow = !d.shared && __builtin_add_overflow(inline_bytes, d.bytes, &inline_bytes);
    if (overflow || inline_bytes > header_.payload_bytes || (d.shared && !shared_)) {
      throw data_loss("{} described tensors that are not in the frame", peer_);
    }
    described_.push_back(d);
  }
  if (!in.empty() || inline_bytes != header_.payload_bytes) {
    throw data_loss("{} sent a frame whose parts do not add up to its length", peer_);
  }
}

bool FrameReader::admitted() {
  if (!admit_ || header_.payload_bytes < kLargePayload) return true;
  ticket_ = admit_(size_t(header_.payload_bytes));
  return ticket_ != nullptr;
}

void FrameReader::begin_payload() {
  targets_.clear();
  target_ = 0;
  strings_.clear();
  message_.tensors.reserve(described_.size());
  strings_.reserve(described_.size());
  for (const TensorDescriptor& d : described_) begin_tensor(d);
  state_ = State::kPayload;
}

Tensor FrameReader::holding_ticket(Tensor tensor) const {
  void* data = tensor.raw();
  DType dtype = tensor.dtype();
  Shape shape = tensor.shape();
  auto both =
      std::make_shared<std::pair<Tensor, std::shared_ptr<void>>>(std::move(tensor), ticket_);
  return Tensor(dtype, shape, data, std::shared_ptr<void>(std::move(both), data));
}

void FrameReader::begin_tensor(const TensorDescriptor& d) {
  if (d.dtype == DType::kInvalid) {
    message_.tensors.emplace_back();
  } else if (d.shared) {
    message_.tensors.push_back(shared_->resolve(d));
  } else if (d.dtype == DType::kString) {
    // The strings themselves are made when all their bytes are here.
    auto data = std::make_unique_for_overwrite<char[]>(d.bytes);
    targets_.push_back({data.get(), d.bytes});
    strings_.push_back({message_.tensors.size(), d.shape, std::move(data), d.bytes});
    message_.tensors.emplace_back();
  } else {
    Tensor tensor = pool_ ? pool_->take(d.dtype, d.shape) : Tensor(d.dtype, d.shape);
    if (ticket_) tensor = holding_ticket(std::move(tensor));
    targets_.push_back({static_cast<char*>(tensor.raw()), d.bytes});
    // Somebody may keep what is final, and its part of the budget with it: not for large messages.
    const bool final = header_.payload_bytes <= kLargestKept;
    message_.tensors.push_back(final ? tensor.sealed() : std::move(tensor));
  }
}

void FrameReader::take_buffered() {
  while (target_ < targets_.size()) {
    Target& to = targets_[target_];
    size_t n = std::min(to.bytes, end_ - begin_);
    if (n > 0) std::memcpy(to.data, buffer_.data() + begin_, n);
    begin_ += n;
    to.data += n;
    to.bytes -= n;
    if (to.bytes > 0) return;
    ++target_;
  }
}

// The buffer is empty here: it takes what is small, and what follows the last target.
size_t FrameReader::read_more(ByteStream& stream) {
  begin_ = end_ = 0;
  iovec parts[kMaxParts];
  int count = 0;
  size_t direct = 0, i = target_;
  for (; i < targets_.size() && count < kMaxParts - 1; ++i) {
    if (targets_[i].bytes == 0) continue;
    parts[count++] = {targets_[i].data, targets_[i].bytes};
    direct += targets_[i].bytes;
  }
  bool small = direct < buffer_.size();
  if (small) count = 0, direct = 0;
  if (small || i == targets_.size()) parts[count++] = {buffer_.data(), buffer_.size()};
  size_t n = stream.read(parts, count);
  bytes_read_ += n;
  size_t into_targets = std::min(n, direct);
  end_ = n - into_targets;
  for (; into_targets > 0; ++target_) {
    Target& to = targets_[target_];
    size_t part = std::min(to.bytes, into_targets);
    to.data += part;
    to.bytes -= part;
    into_targets -= part;
    if (to.bytes > 0) break;
  }
  return n;
}

bool FrameReader::fill(ByteStream& stream) {
  for (take_buffered(); target_ < targets_.size(); take_buffered()) {
    if (read_more(stream) == 0) return false;
  }
  return true;
}

void FrameReader::decode_strings() {
  for (const Strings& strings : strings_) {
    Tensor tensor(DType::kString, strings.shape);
    std::string_view lengths(strings.data.get(), strings.bytes);
    std::string_view bytes = lengths.substr(size_t(tensor.size()) * sizeof(uint64_t));
    for (int64_t i = 0; i < tensor.size(); ++i) {
      auto one = take_bytes(bytes, *take_fixed64(lengths));
      if (!one) throw data_loss("{} sent strings that are longer than their bytes", peer_);
      tensor.data<std::string>()[i] = *one;
    }
    if (!bytes.empty()) throw data_loss("{} sent strings that are shorter than their bytes", peer_);
    message_.tensors[strings.tensor] = std::move(tensor);
  }
  strings_.clear();
}

}  // namespace capstan
