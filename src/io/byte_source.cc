#include "io/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace capstan {
namespace {

constexpr size_t kBuffer = 256 << 10;

class FileSource : public ByteSource {
 public:
  explicit FileSource(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}

  size_t read(char* out, size_t size) override {
    size_t done = 0;
    while (done < size) {
      if (begin_ == end_ && !refill()) break;
      size_t count = std::min(size - done, end_ - begin_);
      std::memcpy(out + done, buffer_.get() + begin_, count);
      begin_ += count;
      done += count;
    }
    return done;
  }

  // What is buffered, or what the file has next; empty at the end.
  std::string_view peek() {
    if (begin_ == end_) refill();
    return {buffer_.get() + begin_, end_ - begin_};
  }
  void skip(size_t size) { begin_ += size; }

 private:
  bool refill() {
    if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kBuffer);
    begin_ = 0;
    end_ = file_->read_at(offset_, buffer_.get(), kBuffer);
    offset_ += end_;
    return end_ > 0;
  }

  std::unique_ptr<ReadableFile> file_;
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t offset_ = 0;
};

class InflateSource : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ReadableFile> file, std::string name, Compression compression)
      : in_(std::move(file)), name_(std::move(name)) {
    // 16 more window bits tell zlib to expect the header of gzip.
    int window = compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
    if (inflateInit2(&stream_, window) != Z_OK) throw resource_exhausted("zlib cannot start");
  }
  ~InflateSource() override { inflateEnd(&stream_); }
  InflateSource(const InflateSource&) = delete;
  InflateSource& operator=(const InflateSource&) = delete;

  size_t read(char* out, size_t size) override {
    size_t done = 0;
    while (done < size && !finished_) done += inflate_some(out + done, size - done);
    return done;
  }

 private:
  size_t inflate_some(char* out, size_t size) {
    std::string_view input = in_.peek();
    if (input.empty() && at_member_start_) {
      finished_ = true;
      return 0;
    }
    uInt limit = static_cast<uInt>(std::min<size_t>(size, 1 << 30));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = limit;
    int result = inflate(&stream_, Z_NO_FLUSH);
    in_.skip(input.size() - stream_.avail_in);
    if (result == Z_STREAM_END) {
      start_member();
    } else if (result != Z_OK || input.empty()) {
      throw data_loss("{}: the compressed bytes are damaged or cut short; write the file anew",
                      name_);
    } else {
      at_member_start_ = false;
    }
    return limit - stream_.avail_out;
  }

  // A compressed file may be several ones joined end to end.
  void start_member() {
    inflateReset(&stream_);
    at_member_start_ = true;
  }

  FileSource in_;
  const std::string name_;
  z_stream stream_{};
  bool at_member_start_ = false;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> byte_source(std::unique_ptr<ReadableFile> file, std::string name,
                                        Compression compression) {
  if (compression == Compression::kNone) return std::make_unique<FileSource>(std::move(file));
  return std::make_unique<InflateSource>(std::move(file), std::move(name), compression);
}

}  // namespace capstan
