#include "net/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace capstan {
namespace {

using testing::HasSubstr;

// Bytes in memory that come and go in pieces of a given size.
class Pieces final : public ByteStream {
 public:
  explicit Pieces(size_t piece, std::string bytes = {}) : piece_(piece), bytes_(std::move(bytes)) {}
  size_t read(const iovec* parts, int count) override {
    if (at_ == bytes_.size()) throw unavailable("the end");
    if ((turn_ ^= 1) == 0) return 0;
    return move(parts, count, [this](char* data, size_t n) {
      n = std::min(n, bytes_.size() - at_);
      std::memcpy(data, bytes_.data() + at_, n);
      at_ += n;
      return n;
    });
  }
  size_t write(const iovec* parts, int count) override {
    if ((turn_ ^= 1) == 0) return 0;
    return move(parts, count, [this](const char* data, size_t n) {
      bytes_.append(data, n);
      return n;
    });
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class F>
  size_t move(const iovec* parts, int count, F f) {
    size_t moved = 0;
    for (int i = 0; i < count && moved < piece_; ++i) {
      EXPECT_GT(parts[i].iov_len, 0u);
      size_t n = std::min(parts[i].iov_len, piece_ - moved);
      size_t done = f(static_cast<char*>(parts[i].iov_base), n);
      moved += done;
      if (done < n) break;
    }
    return moved;
  }
  size_t piece_;
  std::string bytes_;
  size_t at_ = 0;
  int turn_ = 0;
};

std::string encoded(const Message& message, size_t piece = 1 << 20) {
  Pieces out(piece);
  OutFrame frame;
  frame.encode(message, {}, nullptr);
  while (!frame.write(out)) {
  }
  return out.bytes();
}

Message decoded(std::string bytes, size_t piece = 1 << 20, FrameLimits limits = {}) {
  Pieces in(piece, std::move(bytes));
  FrameReader reader(limits, "ps/0", nullptr);
  Message out;
  while (!reader.next(in, out)) {
  }
  return out;
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

Message sample() {
  Message m{.type = 17, .call = 2, .session = 3, .incarnation = 4, .meta = "meta"};
  Tensor big(DType::kFloat, Shape{300, 100});
  for (int64_t i = 0; i < big.size(); ++i) big.data<float>()[i] = float(i);
  m.tensors = {Tensor::of<int32_t>(Shape{2}, {1, 2}), big, Tensor(),
               Tensor::of<std::string>(Shape{3}, {"a", "", std::string(5000, 'b')}), big};
  return m;
}

void expect_refused(std::string bytes, Code code, std::string_view text, FrameLimits limits = {}) {
  try {
    decoded(std::move(bytes), 1 << 20, limits);
    FAIL() << "the frame was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.message(), HasSubstr(std::string(text)));
    EXPECT_THAT(error.message(), HasSubstr("ps/0"));
  }
}

// A frame of one tensor, to be spoilt: its header has 64 bytes, then the descriptor.
std::string one_tensor() {
  return encoded({.type = 17, .tensors = {Tensor::of<float>(Shape{2, 3}, {1, 2, 3, 4, 5, 6})}});
}

TEST(Frame, IsTheSameWhateverPiecesItIsSentAndReadIn) {
  std::string bytes = encoded(sample());
  for (size_t piece : {1, 7, 63, 64, 65, 4096, 100'000}) {
    EXPECT_EQ(encoded(sample(), piece), bytes);
    Message back = decoded(bytes, piece);
    ASSERT_EQ(back.tensors.size(), 5u);
    for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(back.tensors[i].equals(sample().tensors[i])) << i;
  }
}

TEST(Frame, HasTheBytesOfThePublishedFormat) {
  Message m{.type = 17, .call = 2, .session = 3, .incarnation = 4, .meta = "hi"};
  m.tensors = {Tensor::of<int32_t>(Shape{2}, {1, 258})};
  std::string expected(
      "CPSF\x01\x11\0\0"
      "\x01\0\0\0"
      "\x18\0\0\0"
      "\x02\0\0\0"
      "\0\0\0\0"
      "\x08\0\0\0\0\0\0\0"
      "\x02\0\0\0\0\0\0\0"
      "\x03\0\0\0\0\0\0\0"
      "\x04\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0"
      "hi"
      "\x03\x01\0\0"
      "\0\0\0\0"
      "\x08\0\0\0\0\0\0\0"
      "\x02\0\0\0\0\0\0\0"
      "\x01\0\0\0"
      "\x02\x01\0\0",
      64 + 2 + 24 + 8);
  EXPECT_EQ(encoded(m), expected);
}

TEST(Frame, RefusesAnAnnouncedLengthOf2To62BeforeTakingMemory) {
  std::string bytes = one_tensor();
  std::memset(&bytes[24], 0, 8);
  bytes[24 + 7] = 0x40;
  expect_refused(bytes, Code::kResourceExhausted, "4611686018427387904");
  expect_refused(bytes, Code::kResourceExhausted, "max_frame_bytes");
}

TEST(Frame, RefusesMoreThanTheConfiguredLimits) {
  expect_refused(encoded(sample()), Code::kResourceExhausted, "1000", {.max_frame_bytes = 1000});
  expect_refused(encoded(sample()), Code::kResourceExhausted, "max_tensors", {.max_tensors = 4});
}

TEST(Frame, RefusesDescriptionsThatFitNoTensor) {
  for (auto [at, value] : {std::pair{64, 99},   // dtype
                           {64, 20},            // a resource has no bytes
                           {65, 9},             // rank
                           {66, 1},             // shared memory, on a socket
                           {66, 2},             // no place at all
                           {64 + 8, 23},        // bytes
                           {64 + 16, 3},        // a dimension
                           {64 + 16 + 7, 127},  // a dimension of more than 2^62
                           {12, 31}}) {         // the length of the descriptors
    std::string bytes = one_tensor();
    bytes[size_t(at)] = char(value);
    expect_refused(bytes + std::string(64, '\0'), Code::kDataLoss, "");
  }
}

TEST(Frame, RefusesShapesWhoseProductOverflows) {
  std::string bytes = one_tensor();
  for (size_t dim : {64 + 16, 64 + 24}) {
    std::memset(&bytes[dim], 0, 8);
    bytes[dim + 4] = 1;  // 2^32 each
  }
  expect_refused(bytes, Code::kDataLoss, "");
}

TEST(Frame, RefusesStringsThatDoNotFillTheirBytes) {
  std::string bytes =
      encoded({.type = 17, .tensors = {Tensor::of<std::string>(Shape{2}, {"ab", "c"})}});
  size_t lengths = 64 + 24;
  for (char wrong : {char(0), char(1), char(3), char(0x7f)}) {
    std::string spoilt = bytes;
    spoilt[lengths] = wrong;
    expect_refused(spoilt, Code::kDataLoss, "strings");
  }
  bytes[lengths + 7] = char(0xff);
  expect_refused(bytes, Code::kDataLoss, "strings");
}

TEST(Frame, TakesNoMemoryForStringsBeforeTheirBytesCome) {
  std::string descriptors;
  constexpr uint64_t kBytes = 256 << 20;
  for (int64_t count : {int64_t(1), int64_t(kBytes / 8), int64_t(1)}) {
    TensorDescriptor d{.dtype = DType::kString, .shape = Shape{count}, .bytes = kBytes};
    put_descriptor(descriptors, d);
  }
  std::string bytes;
  put_header(bytes, {.type = 17,
                     .tensors = 3,
                     .descriptor_bytes = uint32_t(descriptors.size()),
                     .payload_bytes = 3 * kBytes});
  int64_t before = resident_bytes(), most = 0;
  Pieces in(1 << 20, bytes + descriptors + std::string(1000, '\0'));
  FrameReader reader({}, "ps/0", nullptr);
  Message out;
  try {
    while (!reader.next(in, out)) most = std::max(most, resident_bytes());
    FAIL() << "it cannot be whole";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "the end");
  }
  most = std::max(most, resident_bytes());
  EXPECT_LT(most - before, 300 << 20);  // sanitizers keep a shadow
}

TEST(Message, AnErrorOfAPeerHoldsNoControlCharacters) {
  Message reply = error_reply({}, Error(Code::kInternal, "bad \x1b]0;title\x07", "op\r", "\x9b"));
  Error error = error_of(reply);
  EXPECT_EQ(error.message(), "bad \\x1b]0;title\\x07");
  EXPECT_EQ(error.op(), "op\\x0d");
  EXPECT_EQ(error.task(), "\\x9b");
}

TEST(Frame, RefusesGarbage) {
  expect_refused(std::string(64, 'x'), Code::kDataLoss, "no frame");
  expect_refused("GET / HTTP/1.1\r\n" + std::string(64, ' '), Code::kDataLoss, "no frame");
}

TEST(Frame, WaitsForTheRestOfATruncatedOne) {
  std::string bytes = one_tensor();
  for (size_t cut = 1; cut < bytes.size(); cut += 11) {
    EXPECT_THROW(decoded(bytes.substr(0, cut)), Error) << cut;
  }
}

TEST(Frame, RefusesToSendWhatThePeerWouldNotTake) {
  OutFrame frame;
  EXPECT_THROW(frame.encode(sample(), {.max_frame_bytes = 1000}, nullptr), Error);
}

}  // namespace
}  // namespace capstan
