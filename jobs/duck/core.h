#pragma once

// What the parts of the engine share: the closed store, where tables of scripts live, and the
// folder that is all it may touch.

#include <string>
#include <vector>

#include "jobs/duck/connection.h"
#include "jobs/duck/duck.h"

namespace capstan::duck {

// A folder of this engine alone, gone with it.
class Workspace {
 public:
  explicit Workspace(const EngineOptions& options);
  const std::string& folder() const { return folder_; }
  // A path in it that nobody else has; `ending` as in ".csv".
  std::string fresh(const std::string& ending);

 private:
  jobs::ScratchFolder scratch_;
  const std::string folder_;
  int names_ = 0;
};

struct Core {
  explicit Core(const EngineOptions& options);

  const Api& api;
  EngineOptions options;  // its zeros replaced
  Workspace workspace;
  Interrupts interrupts;
  Store store;
  Link link;
};

// What every store of ours begins with: nothing is fetched, nothing loaded by itself.
std::vector<Setting> closed_settings(const EngineOptions& options);
// From here on the store touches only `paths` (files) and `folder`, and takes no more settings.
void close_off(Link& link, const std::vector<std::string>& paths, const std::string& folder);

}  // namespace capstan::duck
