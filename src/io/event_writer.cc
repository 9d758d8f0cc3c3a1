#include "io/event_writer.h"

#include <unistd.h>

#include <chrono>

#include "base/error.h"

namespace capstan {
namespace {

constexpr int kNameAttempts = 1000;

double system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = "localhost";
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

EventWriterOptions with_defaults(EventWriterOptions options) {
  if (!options.now) options.now = system_seconds;
  if (options.host.empty()) options.host = host_name();
  return options;
}

}  // namespace

EventWriter::EventWriter(Files& files, const std::string& logdir, const std::string& suffix,
                         EventWriterOptions options)
    : options_(with_defaults(std::move(options))), records_(create(files, logdir, suffix)) {
  last_flush_ = options_.now();
  pb::Event first;
  first.set_file_version("brain.Event:2");
  add(std::move(first));
  flush();
}

EventWriter::~EventWriter() {
  try {
    close();
  } catch (const Error&) {  // whoever cares has called close()
  }
}

// Two writers may start in one second: the later one takes the next second.
std::unique_ptr<WritableFile> EventWriter::create(Files& files, const std::string& logdir,
                                                  const std::string& suffix) {
  files.make_dirs(logdir);
  auto seconds = static_cast<int64_t>(options_.now());
  for (int attempt = 0;; ++attempt) {
    path_ = join_path(logdir, fmt::format("events.out.tfevents.{:010d}.{}{}", seconds + attempt,
                                          options_.host, suffix));
    try {
      return files.create(path_, WriteMode::kNew);
    } catch (const Error& e) {
      if (e.code() != Code::kAlreadyExists || attempt == kNameAttempts) throw;
    }
  }
}

void EventWriter::add(pb::Event event) {
  if (event.wall_time() == 0) event.set_wall_time(options_.now());
  add_serialized(event.SerializeAsString());
}

void EventWriter::add_serialized(std::string_view event) {
  std::lock_guard lock(mutex_);
  if (closed_) throw failed_precondition("the event file {} is closed; open another writer", path_);
  records_.write(event);
  bool due =
      ++pending_ >= options_.flush_events || options_.now() - last_flush_ >= options_.flush_seconds;
  if (due) flush_locked();
}

void EventWriter::add_summary(std::string_view summary, int64_t step) {
  pb::Event event;
  event.set_step(step);
  if (!event.mutable_summary()->ParseFromArray(summary.data(), static_cast<int>(summary.size()))) {
    throw invalid_argument(
        "{} bytes given as a summary for step {} are not one; pass what a "
        "summary op returned",
        summary.size(), step);
  }
  add(std::move(event));
}

void EventWriter::add_scalar(std::string_view tag, float value, int64_t step) {
  pb::Event event;
  event.set_step(step);
  pb::Summary::Value* point = event.mutable_summary()->add_value();
  point->set_tag(std::string(tag));
  point->set_simple_value(value);
  add(std::move(event));
}

void EventWriter::add_graph(std::string_view graph_def) {
  pb::Event event;
  event.set_graph_def(std::string(graph_def));
  add(std::move(event));
}

void EventWriter::add_meta_graph(std::string_view meta_graph_def, int64_t step) {
  pb::Event event;
  event.set_step(step);
  event.set_meta_graph_def(std::string(meta_graph_def));
  add(std::move(event));
}

void EventWriter::add_session_log(pb::SessionLog::SessionStatus status, int64_t step,
                                  std::string_view checkpoint_path) {
  pb::Event event;
  event.set_step(step);
  event.mutable_session_log()->set_status(status);
  event.mutable_session_log()->set_checkpoint_path(std::string(checkpoint_path));
  add(std::move(event));
}

void EventWriter::flush() {
  std::lock_guard lock(mutex_);
  if (!closed_) flush_locked();
}

void EventWriter::flush_locked() {
  records_.flush();
  pending_ = 0;
  last_flush_ = options_.now();
}

void EventWriter::close() {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = true;
  records_.sync();
  records_.close();
}

}  // namespace capstan
