#pragma once

// Checkpoints over time: writes TensorFlow's V2 bundles, keeps the newest few, and knows the
// latest.

#include <deque>
#include <map>
#include <string>

#include "base/files.h"
#include "build/saver.h"
#include "io/checkpoint_state.h"
#include "session/session.h"

namespace capstan {

struct KeepOptions {
  int max_to_keep = 5;  // 0: all, and the `checkpoint` file names the newest only
  double keep_every_n_hours = 10000;
};

struct KeptCheckpoint {
  std::string prefix;
  double written;  // seconds since 1970
};

// Which checkpoints of a run are kept: the newest few, and one in so many hours for good. Both
// languages' savers have theirs. One thread at a time.
class Retention {
 public:
  // `now`: when the run began, in seconds since 1970, as all times here.
  Retention(KeepOptions keep, double now);

  // A checkpoint was written to `prefix`. The `checkpoint` file beside it says so and stops naming
  // the oldest, then the files of that one go, unless it is kept for good. Returns what went wrong
  // while they were removed, or "": the checkpoint is there all the same.
  std::string written(Files& files, const std::string& prefix, double now,
                      bool relative_paths = false,
                      const std::string& filename = kCheckpointStateName);

  // Those that are cared for, oldest first.
  const std::deque<KeptCheckpoint>& kept() const { return kept_; }
  // Takes over the care for those of an earlier run.
  void take_over(std::deque<KeptCheckpoint> kept) { kept_ = std::move(kept); }

 private:
  std::string remove_oldest(Files& files);

  const KeepOptions keep_;
  double next_for_good_;
  std::deque<KeptCheckpoint> kept_, too_old_;
};

// Adds its nodes to the graph on construction. One thread at a time.
class Saver {
 public:
  Saver(Graph& graph, std::span<const VariableRef> variables, KeepOptions keep = {},
        Files& files = posix_files());

  // Writes "<path>-<step>" (or path itself for step < 0), then the `checkpoint` file beside it,
  // then removes what is too old. Returns the prefix. Whole or absent: readers never see half of
  // one.
  std::string save(Session& session, const std::string& path, int64_t step = -1);
  void restore(Session& session, const std::string& prefix);

 private:
  SaverNodes nodes_;
  Files& files_;
  Retention retention_;
};

}  // namespace capstan
