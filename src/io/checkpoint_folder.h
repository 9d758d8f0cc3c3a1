#pragma once

// Which checkpoint of a folder to go on from: the newest that its state file names, and where that
// file or that checkpoint is lost or damaged, the newest whole one that is there. Training is not
// to start over because a small text file is broken.

#include <optional>
#include <string>

#include "io/checkpoint_state.h"

namespace capstan {

struct CheckpointFolder {
  // Nothing when the folder holds no checkpoint. Where none of them is whole it is what the state
  // file says, so that restoring tells what is wrong.
  std::optional<CheckpointStateInfo> state;
  // Whether a state file names them. Those that were only found there may be kept for good, or
  // belong to somebody else: whoever removes old checkpoints leaves them alone.
  bool recorded = true;
  // What was wrong and what is used instead, for the user; mostly empty.
  std::string warning;
};

// A state file of another name than kCheckpointStateName begins a series of its own: where it is
// missing, nothing is taken in its place.
CheckpointFolder look_into_checkpoint_folder(Files& files, const std::string& dir,
                                             const std::string& filename = kCheckpointStateName);

}  // namespace capstan
