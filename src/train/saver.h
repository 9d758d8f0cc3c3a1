#pragma once

// Checkpoints over time: writes TensorFlow's V2 bundles, keeps the newest few, and knows the
// latest.

#include <deque>
#include <map>
#include <string>

#include "base/files.h"
#include "build/saver.h"
#include "session/session.h"

namespace capstan {

struct KeepOptions {
  int max_to_keep = 5;  // 0: all
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
  void remember(const std::string& prefix);

  SaverNodes nodes_;
  const KeepOptions keep_;
  Files& files_;
  std::deque<std::pair<std::string, double>> kept_;  // prefix, seconds since 1970; oldest first
};

}  // namespace capstan
