#pragma once

// Bytes of a file from front to back, buffered, and inflated where the file is compressed.

#include <memory>
#include <string>

#include "base/files.h"

namespace capstan {

enum class Compression { kNone, kZlib, kGzip };

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills up to `size` bytes; fewer only at the end.
  virtual size_t read(char* out, size_t size) = 0;
};

// Compressed bytes that are damaged or cut short throw DataLoss with `name`.
std::unique_ptr<ByteSource> byte_source(std::unique_ptr<ReadableFile> file, std::string name,
                                        Compression compression = Compression::kNone);

}  // namespace capstan
