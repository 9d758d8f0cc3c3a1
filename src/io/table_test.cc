#include "io/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/files.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

TableEntries many(int count) {
  TableEntries out;
  for (int i = 0; i < count; ++i)
    out.emplace(fmt::format("layer_{:06d}/weights", i), std::string(50, 'v'));
  return out;
}

std::string error_of(std::string_view bytes) {
  try {
    read_table(bytes, "/t");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kDataLoss);
    return e.message();
  }
  return "none";
}

// A table whose blocks are compressed, as readers must accept it.
std::string packed_table(const TableEntries& entries) {
  std::string path = ::testing::TempDir() + "capstan_packed_table";
  leveldb::WritableFile* file = nullptr;
  EXPECT_TRUE(leveldb::Env::Default()->NewWritableFile(path, &file).ok());
  std::unique_ptr<leveldb::WritableFile> owner(file);
  leveldb::Options options;
  options.compression = leveldb::kSnappyCompression;
  leveldb::TableBuilder builder(options, file);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  EXPECT_TRUE(builder.Finish().ok());
  EXPECT_TRUE(file->Close().ok());
  std::string bytes = posix_files().read(path);
  posix_files().remove(path);
  return bytes;
}

// A block, with its trailer, made of entries that all share `shared` bytes with the one before.
std::string block_of(std::string entries) {
  put_fixed32(entries, 0);
  put_fixed32(entries, 1);
  std::string stored = entries + '\0';
  put_fixed32(stored, masked_crc32c(stored));
  return stored;
}

void put_entry(std::string& out, uint64_t shared, std::string_view tail, std::string_view value) {
  put_varint(out, shared);
  put_varint(out, tail.size());
  put_varint(out, value.size());
  out.append(tail);
  out.append(value);
}

std::string handle_of(uint64_t offset, uint64_t size) {
  std::string out;
  put_varint(out, offset);
  put_varint(out, size);
  return out;
}

std::string table_of(const std::string& block, int times) {
  std::string index_entries;
  for (int i = 0; i < times; ++i) {
    put_entry(index_entries, 0, fmt::format("k{:06d}", i), handle_of(0, block.size() - 5));
  }
  std::string index = block_of(index_entries);
  std::string footer = handle_of(0, 0) + handle_of(block.size(), index.size() - 5);
  footer.resize(40);
  put_fixed64(footer, 0xdb4775248b80fb57u);
  return block + index + footer;
}

TEST(Table, WhatWasBuiltIsReadWithTheEmptyKeyFirst) {
  TableEntries entries = many(20000);  // several blocks
  entries.emplace("", "header");
  std::string bytes = build_table(entries);
  EXPECT_EQ(bytes.substr(bytes.size() - 8), "\x57\xfb\x80\x8b\x24\x75\x47\xdb");
  EXPECT_EQ(read_table(bytes, "/t"), entries);
  EXPECT_TRUE(read_table(build_table({}), "/t").empty());
}

TEST(Table, ReadsCompressedBlocks) {
  TableEntries entries = many(3000);
  std::string bytes = packed_table(entries);
  EXPECT_LT(bytes.size(), build_table(entries).size() / 2);
  EXPECT_EQ(read_table(bytes, "/t"), entries);
}

TEST(Table, EveryTruncationIsFound) {
  std::string bytes = build_table(many(20));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(error_of(bytes.substr(0, size)), HasSubstr("/t ")) << size;
  }
}

TEST(Table, FlippedBitsNeverChangeWhatIsRead) {
  TableEntries entries = many(20);
  std::string bytes = build_table(entries);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    try {
      EXPECT_EQ(read_table(damaged, "/t"), entries) << bit;  // the padding of the footer is free
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kDataLoss);
    }
  }
}

TEST(Table, ABlockListedManyTimesIsRefused) {
  std::string entries;
  put_entry(entries, 0, "key", "value");
  EXPECT_EQ(error_of(table_of(block_of(entries), 1)), "none");
  EXPECT_THAT(error_of(table_of(block_of(entries), 2)), HasSubstr("overlapping blocks"));
}

TEST(Table, KeysThatUnfoldToFarMoreThanTheFileAreRefused) {
  std::string entries;
  put_entry(entries, 0, std::string(100000, 'k'), "");
  for (uint64_t i = 0; i < 20000; ++i) put_entry(entries, 100000 + i, "k", "");
  EXPECT_THAT(error_of(table_of(block_of(entries), 1)), HasSubstr("far more bytes"));
}

TEST(Table, KeysOutOfOrderAreRefused) {
  std::string entries;
  put_entry(entries, 0, "b", "");
  put_entry(entries, 0, "a", "");
  EXPECT_THAT(error_of(table_of(block_of(entries), 1)), HasSubstr("out of order"));
}

}  // namespace
}  // namespace capstan
