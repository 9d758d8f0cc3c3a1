#pragma once

// Messages to frames and back, piece by piece, over a ByteStream that may stop at any byte. Tensors
// are sent straight from their memory and received straight into theirs; only what is small is
// gathered in a buffer, because there the copy is cheaper than another part of a system call.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/byte_stream.h"
#include "net/message.h"
#include "net/receive_pool.h"
#include "net/wire.h"

namespace capstan {

// Asked before memory is taken for a message with so many bytes of tensors, many of them: what it
// returns is held as long as the tensors are. Null means "not yet"; it is asked again.
using Admission = std::function<std::shared_ptr<void>(size_t bytes)>;

// The shared-memory side of a connection, as the frame codec sees it.
class SharedPlaces {
 public:
  virtual ~SharedPlaces() = default;
  // Where the peer can see the tensor's bytes, copied there if need be; nothing when they have to
  // travel in the frame. The bytes stay there until the peer lets go.
  virtual std::optional<SharedRef> place(const Tensor& tensor, bool share_live) = 0;
  // The tensor that a checked descriptor names.
  virtual Tensor resolve(const TensorDescriptor& descriptor) = 0;
};

// One frame on its way out. It points into the message it encodes: the message must stay alive (it
// may be moved) until the frame is written.
class OutFrame {
 public:
  // Throws InvalidArgument for tensors that cannot travel and frames beyond the limit.
  void encode(const Message& message, const FrameLimits& limits, SharedPlaces* shared);
  // Writes what the stream takes; true when the frame is whole on its way.
  bool write(ByteStream& stream);
  uint64_t bytes_left() const { return left_; }

 private:
  struct Section {
    const char* data;  // null: at `offset` of scratch_
    size_t offset, bytes;
  };
  void put(const void* data, size_t bytes);
  void put_scratch(size_t offset);
  void put_tensor(const Tensor& tensor);
  void put_strings(const Tensor& tensor);

  std::string scratch_;
  std::vector<Section> sections_;
  size_t section_ = 0, done_ = 0;  // what is written: sections, and bytes of the next one
  uint64_t left_ = 0;
};

class FrameReader {
 public:
  FrameReader(FrameLimits limits, std::string peer, SharedPlaces* shared = nullptr);

  // Reads what is there; true when `out` is whole, false when the stream would block. Throws
  // DataLoss or ResourceExhausted for bad frames and passes on what the stream throws; the
  // connection is then of no use.
  bool next(ByteStream& stream, Message& out);
  void set_admission(Admission admit) { admit_ = std::move(admit); }
  void set_pool(std::shared_ptr<ReceivePool> pool) { pool_ = std::move(pool); }
  bool waits_for_admission() const { return state_ == State::kAdmission; }
  // Grows with every byte taken off the stream: a waiter sees that things move.
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  enum class State { kHeader, kMeta, kDescriptors, kAdmission, kPayload };
  struct Target {
    char* data;
    size_t bytes;
  };
  bool read_header(ByteStream& stream);
  bool fill(ByteStream& stream);
  void take_buffered();
  size_t read_more(ByteStream& stream);
  void begin_meta();
  bool read_text(ByteStream& stream, std::string& text, size_t bytes);
  void read_descriptors();
  bool admitted();
  void begin_payload();
  Tensor holding_ticket(Tensor tensor) const;
  void begin_tensor(const TensorDescriptor& descriptor);
  void decode_strings();

  const FrameLimits limits_;
  const std::string peer_;
  SharedPlaces* const shared_;
  Admission admit_;
  std::shared_ptr<ReceivePool> pool_;
  std::shared_ptr<void> ticket_;  // of the message that is being read

  State state_ = State::kHeader;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // unread bytes of buffer_
  uint64_t bytes_read_ = 0;

  FrameHeader header_;
  Message message_;
  std::string descriptors_;
  std::vector<TensorDescriptor> described_;
  std::vector<Target> targets_;
  size_t target_ = 0;
  struct Strings {
    size_t tensor;
    Shape shape;
    std::unique_ptr<char[]> data;  // not touched before bytes come: pages are taken as they do
    size_t bytes;
  };
  std::vector<Strings> strings_;
};

}  // namespace capstan
