// Input: one byte that says how (0 plain, 1 plain with the checksums of lengths put right, 2 zlib,
// 3 gzip), then a record file.

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/memory_files.h"
#include "fuzz/fuzz.h"
#include "io/record.h"

namespace capstan {
namespace {

constexpr uint64_t kMaxRecord = 1 << 20;

// Else no mutated length would ever be believed.
std::string with_good_lengths(std::string bytes) {
  for (size_t at = 0; at + 12 <= bytes.size();) {
    std::string crc;
    put_fixed32(crc, masked_crc32c({bytes.data() + at, 8}));
    bytes.replace(at + 8, 4, crc);
    uint64_t length = load_fixed64(bytes.data() + at);
    if (length > bytes.size()) break;
    at += 16 + length;
  }
  return bytes;
}

void read_all(std::string bytes, Compression compression) {
  RecordReader reader(memory_file(std::move(bytes)), "input", {compression, kMaxRecord});
  while (reader.next()) {
  }
}

void run(std::string_view input) {
  std::string bytes(input.substr(1));
  switch (input[0]) {
    case 1: return read_all(with_good_lengths(std::move(bytes)), Compression::kNone);
    case 2: return read_all(std::move(bytes), Compression::kZlib);
    case 3: return read_all(std::move(bytes), Compression::kGzip);
    default: return read_all(std::move(bytes), Compression::kNone);
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  MemoryFiles files;
  RecordWriter writer(files, "/r");
  for (size_t size : {0, 1, 100}) writer.write(std::string(size, 'r'));
  writer.close();
  std::string bytes = files.read("/r");
  return {'\0' + bytes, '\1' + bytes, std::string("\2\x78\x9c\x03\0\0\0\0\1", 9), "\3\x1f\x8b\x08"};
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    capstan::run({reinterpret_cast<const char*>(data), size});
  } catch (const capstan::Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
