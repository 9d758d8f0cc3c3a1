#include "io/record.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"

namespace capstan {
namespace {

constexpr size_t kHeader = 12;  // length and its checksum
constexpr uint64_t kReadStep =
    1 << 20;  // memory grows with what was read, not with what is promised

}  // namespace

void RecordWriter::write(std::string_view record) {
  std::string head;
  put_fixed64(head, record.size());
  put_fixed32(head, masked_crc32c(head));
  std::string tail;
  put_fixed32(tail, masked_crc32c(record));
  file_->append(head);
  file_->append(record);
  file_->append(tail);
}

RecordReader::RecordReader(Files& files, const std::string& path, const RecordOptions& options)
    : RecordReader(files.open(path), path, options) {}

RecordReader::RecordReader(std::unique_ptr<ReadableFile> file, std::string name,
                           const RecordOptions& options)
    : name_(std::move(name)),
      max_record_(options.max_record),
      source_(byte_source(std::move(file), name_, options.compression)) {}

void RecordReader::damaged(const std::string& what) const {
  throw data_loss("{}: the record at byte {} {}; records before it are good, write the rest anew",
                  name_, offset_, what);
}

std::optional<uint64_t> RecordReader::next_length() {
  char head[kHeader];
  size_t got = source_->read(head, kHeader);
  if (got == 0) return std::nullopt;
  if (got < kHeader) damaged("is cut short");
  if (masked_crc32c({head, 8}) != load_fixed32(head + 8)) damaged("has a damaged length");
  uint64_t length = load_fixed64(head);
  if (length > max_record_) {
    damaged(fmt::format("announces {} bytes, the limit is {}", length, max_record_));
  }
  return length;
}

std::string RecordReader::take(uint64_t size) {
  std::string out;
  while (out.size() < size) {
    size_t before = out.size();
    size_t step = static_cast<size_t>(
        std::min<uint64_t>(size - before, std::max<uint64_t>(kReadStep, before)));
    out.resize(before + step);
    if (source_->read(out.data() + before, step) < step) damaged("is cut short");
  }
  return out;
}

std::optional<std::string> RecordReader::next() {
  std::optional<uint64_t> length = next_length();
  if (!length) return std::nullopt;
  std::string record = take(*length);
  std::string crc = take(4);
  if (masked_crc32c(record) != load_fixed32(crc.data())) damaged("does not match its checksum");
  offset_ += kHeader + record.size() + 4;
  return record;
}

}  // namespace capstan
