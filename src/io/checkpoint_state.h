#pragma once

// The small text file "checkpoint" that says which checkpoints a folder holds, and which is newest.

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"

namespace capstan {

struct CheckpointStateInfo {
  std::string model_checkpoint_path;                    // the newest
  std::vector<std::string> all_model_checkpoint_paths;  // oldest first
  std::vector<double> all_model_checkpoint_timestamps;  // seconds since 1970, or empty
  double last_preserved_timestamp = 0;
};

constexpr const char* kCheckpointStateName = "checkpoint";

// Written atomically. Paths are written as TensorFlow does: relative to `dir` when `dir` itself is
// relative or `relative_paths` is set, else unchanged. The newest path is appended to all paths
// where it is not there. Throws InvalidArgument when timestamps are given, but not one per path.
void write_checkpoint_state(Files& files, const std::string& dir, CheckpointStateInfo info,
                            bool relative_paths = false,
                            const std::string& filename = kCheckpointStateName);

// Relative paths in the file come back joined to `dir`. Nothing when there is no such file;
// DataLoss that names the line when it cannot be understood.
std::optional<CheckpointStateInfo> read_checkpoint_state(
    Files& files, const std::string& dir, const std::string& filename = kCheckpointStateName);

}  // namespace capstan
