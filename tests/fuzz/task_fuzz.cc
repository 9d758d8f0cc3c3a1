// What a task writes: lines of its channel, and lines that it prints.

#include "base/task_channel.h"
#include "fuzz/fuzz.h"
#include "jobs/local/task_event.h"
#include "jobs/local/task_log.h"

namespace capstan {

std::vector<std::string> fuzz_seeds() {
  return {R"({"event":"step","time":1.5,"step":7,"loss":0.25,"last_step":100})",
          R"({"event":"port","time":1.5,"port":2222})",
          R"({"event":"error","time":1.5,"code":"Aborted","message":"\u00e4\n"})",
          "step: 2000, loss: 0.25\nglobal_step=12\rLoss = 1e-3\n\xc3\xa4"};
}

}  // namespace capstan

// Nothing here may throw at all: the launcher has to watch the other tasks.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  capstan::jobs::task_event(text);
  capstan::json_quote(text);
  capstan::jobs::TaskLog log("",
                             [](std::string_view line) { capstan::jobs::printed_progress(line); });
  log.feed(text.substr(0, size / 2));
  log.feed(text.substr(size / 2));
  log.finish();
  return 0;
}
