// libFuzzer's programs put their seeds into the first folder of their command line.

#include <filesystem>
#include <fstream>

#include "fuzz/fuzz.h"

namespace {

const char* first_folder(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    if (std::filesystem::is_directory(arguments[i])) return arguments[i];
  }
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const char* folder = first_folder(*count, *arguments);
  if (!folder) return 0;
  size_t index = 0;
  for (const std::string& seed : capstan::fuzz_seeds()) {
    std::filesystem::path path =
        std::filesystem::path(folder) / ("seed-" + std::to_string(index++));
    std::ofstream(path, std::ios::binary).write(seed.data(), std::streamsize(seed.size()));
  }
  return 0;
}
