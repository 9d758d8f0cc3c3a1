#pragma once

// Record files: a row of byte strings, each with its length and checksums (TensorFlow's TFRecord).
// docs/formats/record.md has the bytes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "io/byte_source.h"

namespace capstan {

class RecordWriter {
 public:
  explicit RecordWriter(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  RecordWriter(Files& files, const std::string& path, WriteMode mode = WriteMode::kReplace)
      : RecordWriter(files.create(path, mode)) {}

  void write(std::string_view record);
  void flush() { file_->flush(); }
  void sync() { file_->sync(); }
  void close() { file_->close(); }

 private:
  std::unique_ptr<WritableFile> file_;
};

struct RecordOptions {
  Compression compression = Compression::kNone;
  // A longer record counts as damage.
  uint64_t max_record = uint64_t{1} << 31;
};

// Reads front to back. Nothing in the file is trusted: checksums are verified, and memory is taken
// only as bytes really arrive. Damage throws DataLoss with the file and the offset of the record.
class RecordReader {
 public:
  RecordReader(Files& files, const std::string& path, const RecordOptions& options = {});
  RecordReader(std::unique_ptr<ReadableFile> file, std::string name,
               const RecordOptions& options = {});

  // The next record, or nothing at the end of the file.
  std::optional<std::string> next();
  // Of the next record, in uncompressed bytes.
  uint64_t offset() const { return offset_; }

 private:
  std::optional<uint64_t> next_length();
  std::string take(uint64_t size);
  [[noreturn]] void damaged(const std::string& what) const;

  std::string name_;
  uint64_t max_record_;
  std::unique_ptr<ByteSource> source_;
  uint64_t offset_ = 0;
};

}  // namespace capstan
