// The text file "checkpoint" of a folder of checkpoints.

#include "base/error.h"
#include "base/memory_files.h"
#include "fuzz/fuzz.h"
#include "io/checkpoint_folder.h"

namespace capstan {

std::vector<std::string> fuzz_seeds() {
  MemoryFiles files;
  write_checkpoint_state(files, "/c",
                         {.model_checkpoint_path = "/c/model-2",
                          .all_model_checkpoint_paths = {"/c/model-1", "/c/a \"b\" \\ \n\xc3\xa4"},
                          .all_model_checkpoint_timestamps = {1.5, 2.5, 3.5},
                          .last_preserved_timestamp = 1});
  return {
      files.read("/c/checkpoint"),
      "# a comment\nmodel_checkpoint_path : 'a' \"b\"; all_model_checkpoint_paths: \"\\x41\\101\""};
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  capstan::MemoryFiles files;
  files.put("/c/checkpoint", std::string(reinterpret_cast<const char*>(data), size));
  try {
    capstan::look_into_checkpoint_folder(files, "/c");
    capstan::read_checkpoint_state(files, "/c");
  } catch (const capstan::Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
