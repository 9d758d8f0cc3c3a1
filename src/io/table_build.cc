#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include "base/error.h"
#include "io/table.h"

namespace capstan {
namespace {

class StringFile : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string bytes;
};

}  // namespace

std::string build_table(const TableEntries& entries) {
  leveldb::Options options;  // the values that TensorFlow uses
  options.block_size = 262144;
  options.compression = leveldb::kNoCompression;
  StringFile file;
  leveldb::TableBuilder builder(options, &file);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  leveldb::Status status = builder.Finish();
  if (!status.ok()) throw internal_error("cannot build a table: {}", status.ToString());
  return std::move(file.bytes);
}

}  // namespace capstan
