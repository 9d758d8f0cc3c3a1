#include "io/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/memory_files.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string record_bytes(std::initializer_list<std::string_view> records) {
  MemoryFiles files;
  RecordWriter writer(files, "/r");
  for (std::string_view record : records) writer.write(record);
  writer.close();
  return files.read("/r");
}

std::vector<std::string> read_all(std::string bytes, const RecordOptions& options = {}) {
  RecordReader reader(memory_file(std::move(bytes)), "/r", options);
  std::vector<std::string> out;
  while (auto record = reader.next()) out.push_back(*record);
  return out;
}

std::string error_of(std::string bytes, const RecordOptions& options = {}) {
  try {
    read_all(std::move(bytes), options);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kDataLoss);
    return e.message();
  }
  return "none";
}

std::string deflated(std::string_view bytes, bool gzip) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(bytes.size() + 200, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Record, RecordsComeBackInOrder) {
  std::string big(3000000, 'b');
  EXPECT_THAT(read_all(record_bytes({"one", "", big})), ElementsAre("one", "", big));
  EXPECT_THAT(read_all(""), ElementsAre());
}

TEST(Record, HasTheBytesThatTensorFlowWrites) {
  // tf.io.TFRecordWriter wrote this for the one record b"abc".
  std::string golden(
      "\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
      "abc"
      "\x6e\x57\xf1\x21",
      19);
  EXPECT_EQ(record_bytes({"abc"}), golden);
}

TEST(Record, EveryTruncationKeepsWhatIsWholeAndSaysWhereItEnds) {
  std::string bytes = record_bytes({"first", "second"});
  size_t cut = record_bytes({"first"}).size();
  for (size_t size = 1; size < bytes.size(); ++size) {
    if (size == cut) continue;
    EXPECT_THAT(error_of(bytes.substr(0, size)),
                HasSubstr(size < cut ? "at byte 0 is cut" : "at byte 21 is cut"));
  }
}

TEST(Record, EveryFlippedBitIsFound) {
  std::string bytes = record_bytes({"first"});
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(error_of(damaged), "none") << bit;
  }
}

TEST(Record, AnEnormousLengthTakesNoMemory) {
  std::string head;
  put_fixed64(head, uint64_t{1} << 62);
  put_fixed32(head, masked_crc32c(head));
  EXPECT_THAT(error_of(head), HasSubstr("announces 4611686018427387904 bytes"));
  std::string within;
  put_fixed64(within, uint64_t{1} << 30);
  put_fixed32(within, masked_crc32c(within));
  EXPECT_THAT(error_of(within + "few"), HasSubstr("cut short"));
}

TEST(Record, ReadsZlibAndGzip) {
  std::string bytes = record_bytes({"one", std::string(100000, 'x')});
  EXPECT_EQ(read_all(deflated(bytes, false), {.compression = Compression::kZlib}).size(), 2u);
  EXPECT_EQ(read_all(deflated(bytes, true), {.compression = Compression::kGzip}).size(), 2u);
  std::string joined = deflated(bytes, true) + deflated(bytes, true);
  EXPECT_EQ(read_all(joined, {.compression = Compression::kGzip}).size(), 4u);
}

TEST(Record, DamagedCompressionIsNamed) {
  std::string packed = deflated(record_bytes({"one"}), true);
  EXPECT_THAT(error_of(packed.substr(0, packed.size() / 2), {.compression = Compression::kGzip}),
              HasSubstr("compressed bytes are damaged"));
  EXPECT_THAT(error_of("nonsense", {.compression = Compression::kZlib}),
              HasSubstr("compressed bytes are damaged"));
}

}  // namespace
}  // namespace capstan
