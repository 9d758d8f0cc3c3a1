// Input: one byte (odd: the rest is one event, else an event file), then that.

#include "base/error.h"
#include "base/memory_files.h"
#include "fuzz/fuzz.h"
#include "io/event_reader.h"
#include "io/event_writer.h"

namespace capstan {
namespace {

std::string as_file(std::string_view event) {
  MemoryFiles files;
  RecordWriter(files, "/e").write(event);
  return files.read("/e");
}

void run(std::string_view input) {
  std::string_view rest = input.substr(1);
  EventReader reader(memory_file(input[0] & 1 ? as_file(rest) : std::string(rest)), "input");
  while (reader.next()) {
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  MemoryFiles files;
  EventWriter writer(files, "/logs");
  writer.add_scalar("loss", 0.5f, 3);
  writer.add_graph("graph");
  writer.add_session_log(pb::SessionLog::START, 4);
  writer.close();
  pb::Event event;
  event.mutable_summary()->add_value()->mutable_histo()->add_bucket(1);
  return {'\0' + files.read(writer.path()), '\1' + event.SerializeAsString()};
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
