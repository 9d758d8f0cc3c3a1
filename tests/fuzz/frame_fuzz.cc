// Bytes off the wire into the frame reader: whatever comes, an Error or a message, nothing else.
// The first byte chooses the size of the pieces in which the rest arrives.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "fuzz/fuzz.h"
#include "net/frame.h"
#include "net/handshake.h"

namespace capstan {
namespace {

class Bytes final : public ByteStream {
 public:
  Bytes(const uint8_t* data, size_t bytes, size_t piece)
      : data_(data), left_(bytes), piece_(piece) {}
  size_t read(const iovec* parts, int count) override {
    if (left_ == 0) throw unavailable("the end");
    size_t moved = 0;
    for (int i = 0; i < count && moved < piece_ && left_ > 0; ++i) {
      size_t n = std::min({parts[i].iov_len, piece_ - moved, left_});
      std::memcpy(parts[i].iov_base, data_, n);
      data_ += n;
      left_ -= n;
      moved += n;
    }
    return moved;
  }
  size_t write(const iovec*, int) override { return 0; }

 private:
  const uint8_t* data_;
  size_t left_, piece_;
};

// Claims that every checked descriptor of shared memory is a tensor.
class AnyPlace final : public SharedPlaces {
 public:
  std::optional<SharedRef> place(const Tensor&, bool) override { return std::nullopt; }
  Tensor resolve(const TensorDescriptor& d) override {
    return d.bytes < (1 << 20) ? Tensor(d.dtype, d.shape) : Tensor();
  }
};

void read_frames(const uint8_t* data, size_t bytes, size_t piece, SharedPlaces* shared) {
  Bytes stream(data, bytes, piece);
  FrameReader reader({.max_frame_bytes = 1 << 20}, "fuzz", shared);
  try {
    for (Message message;;) {
      if (reader.next(stream, message)) throw_if_error(message);
    }
  } catch (const Error&) {
  }
}

void shake_hands(const uint8_t* data, size_t bytes) {
  SeededRandom random(1);
  Handshake hands(Handshake::Role::kServer, {.name = "fuzz"}, 0, "", "fuzz", random);
  try {
    while (bytes > 0 && hands.wanted() > 0) {
      size_t n = std::min(bytes, hands.wanted());
      hands.feed({reinterpret_cast<const char*>(data), n});
      data += n;
      bytes -= n;
    }
  } catch (const Error&) {
  }
}

class Sink final : public ByteStream {
 public:
  size_t read(const iovec*, int) override { return 0; }
  size_t write(const iovec* parts, int count) override {
    size_t moved = 0;
    for (int i = 0; i < count; ++i) {
      bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
      moved += parts[i].iov_len;
    }
    return moved;
  }
  std::string bytes;
};

std::string encoded(const Message& message) {
  Sink sink;
  OutFrame frame;
  frame.encode(message, {}, nullptr);
  frame.write(sink);
  return sink.bytes;
}

std::string hello() {
  SeededRandom random(2);
  return Handshake(Handshake::Role::kClient, {.name = "seed"}, 0, "", "x", random).take_output();
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  Message all{.type = 16, .call = 1, .session = 2, .incarnation = 3, .meta = "meta"};
  all.tensors = {Tensor::of<int64_t>(Shape{2, 1}, {1, -1}), Tensor(), Tensor(DType::kFloat, {0, 3}),
                 Tensor::of<std::string>(Shape{3}, {"", "a", "bc"})};
  std::string frames = encoded(all) + encoded({.type = 17, .meta = std::string(3000, 'm')}) +
                       encoded(error_reply({}, Error(Code::kAborted, "m", "op", "task")));
  return {'\0' + frames, '\7' + frames, '\xff' + frames, '\1' + hello()};
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes == 0) return 0;
  size_t piece = size_t(data[0]) * 16 + 1;
  capstan::AnyPlace any;
  capstan::read_frames(data + 1, bytes - 1, piece, nullptr);
  capstan::read_frames(data + 1, bytes - 1, piece, &any);
  capstan::shake_hands(data + 1, bytes - 1);
  return 0;
}
