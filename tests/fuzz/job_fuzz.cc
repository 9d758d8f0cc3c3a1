// What is read of jobs from files and from other processes. Input: one byte that says which of
// them, then its text.

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "jobs/fake_platform.h"
#include "jobs/job_controller.h"
#include "jobs/job_view.h"
#include "jobs/local/link_packets.h"

namespace capstan {
namespace {

using namespace jobs;

JobRecord whole_record() {
  JobRecord record{.id = "0badcafe", .name = "mnist", .command = {"train.py", "--rate=1"}};
  record.created = 1'000'000;
  record.state = {.started = 995, .trained = 0, .ended = 0};
  record.state.restarts = 1;
  record.state.incident = 999;
  record.state.stop = {.at = 998, .text = "stopped", .exit_code = 143};
  TaskReport worker{.task = {"worker", 0}, .host = "127.0.0.1", .port = 4000};
  worker.attempt = 2;
  worker.start_at = 1001;
  worker.memory_limit = 1 << 30;
  worker.attempts = {{.number = 1, .why = "SIGKILL", .step = 3, .started = 996, .ended = 999}};
  worker.progress = {.step = 10, .loss = 0.5, .last_step = 100};
  record.state.tasks = {worker};
  record.curve = {{1, 10, 0.5}, {2, 20, std::nullopt}};
  return record;
}

StatusPacket whole_status() {
  StatusPacket packet{.status = {.task = {"worker", 0}, .attempt = 2, .ended = true}};
  packet.status.told.error = TaskError{5, "Unavailable", "lost ps/0"};
  packet.status.start_error = not_found("no such program");
  packet.last_lines = {"a", "b"};
  return packet;
}

// A controller that goes on with it comes to an end, whatever it says.
void go_on_with(const JobRecord& record) {
  FakeLoop loop;
  FakePlatform platform(loop);
  Notes notes;
  JobSpec spec{.groups = {{"worker", 1}}, .program = {.path = "p"}, .restarts = 3};
  JobController controller(spec, {}, platform, loop, notes, record.state);
  controller.start();
  loop.advance(10);
  controller.stop("enough", 1);
  loop.advance(10);
  controller.report();
}

void read_record(std::string_view text) {
  const JobRecord record = record_from_json(text);
  if (to_json(record_from_json(to_json(record))) != to_json(record)) __builtin_trap();
  const ShelvedJob job{.id = record.id, .record = record};
  status_text(job, 2e6, 80, [](int) { return int64_t{0}; });
  jobs_table({job}, 2e6, 80);
  job_line_json(job, 2e6);
  status_json(job);
  go_on_with(record);
}

void read_status(std::string_view text) {
  const auto packet = status_from_json(text);
  if (packet && !status_from_json(to_json(*packet))) __builtin_trap();
}

void run(std::string_view input) {
  const std::string_view text = input.substr(1);
  switch (input[0] % 4) {
    case 0: read_record(text); break;
    case 1: read_status(text); break;
    case 2: request_from_json(text); break;
    default: parse_memory_rules(text);
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {'\0' + to_json(whole_record()), '\1' + to_json(whole_status()),
          '\2' + to_json(Request{Request::What::kStart, {"worker", 1}, 2}), "\3ps=4G,worker=1.5M"};
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
