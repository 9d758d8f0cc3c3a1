#pragma once

// The log of a run that TensorBoard reads: scalars, histograms, images, graphs, starts and stops.
// One file per writer, named as TensorBoard expects it:
// events.out.tfevents.<seconds>.<host><suffix>.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/files.h"
#include "io/record.h"
#include "proto/event.pb.h"

namespace capstan {

struct EventWriterOptions {
  // What is buffered reaches the file after so many events or seconds, whichever comes first; there
  // is no thread, so time is looked at when an event is added.
  int flush_events = 100;
  double flush_seconds = 120;
  // Seconds since 1970; empty for the system's clock.
  std::function<double()> now;
  // Empty for this machine's name.
  std::string host;
};

// Thread-safe. Makes the folder and the file at once. A file of another writer is never touched.
class EventWriter {
 public:
  EventWriter(Files& files, const std::string& logdir, const std::string& suffix = "",
              EventWriterOptions options = {});
  // Closes; what cannot be written then is lost without a word. Call close() to learn of it.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // wall_time is filled in where it is 0.
  void add(pb::Event event);
  // A whole Event, ready-made.
  void add_serialized(std::string_view event);
  // The bytes of a Summary, as summary ops make them. Throws InvalidArgument when they are none.
  void add_summary(std::string_view summary, int64_t step);
  void add_scalar(std::string_view tag, float value, int64_t step);
  void add_graph(std::string_view graph_def);
  void add_meta_graph(std::string_view meta_graph_def, int64_t step = 0);
  // START at the first step of a resumed run makes TensorBoard drop later points of the run that
  // died.
  void add_session_log(pb::SessionLog::SessionStatus status, int64_t step,
                       std::string_view checkpoint_path = "");

  void flush();
  // Later add() calls throw FailedPrecondition; a second close() does nothing.
  void close();
  const std::string& path() const { return path_; }

 private:
  std::unique_ptr<WritableFile> create(Files& files, const std::string& logdir,
                                       const std::string& suffix);
  void flush_locked();

  EventWriterOptions options_;
  std::string path_;
  std::mutex mutex_;
  RecordWriter records_;
  int pending_ = 0;
  double last_flush_ = 0;
  bool closed_ = false;
};

}  // namespace capstan
