#pragma once

// Which files a script may name, and where they lie: the user's own, or, with a root, only what
// lies below it.

#include <string>

#include "jobs/script/place.h"

namespace capstan::script {

class Paths {
 public:
  // `root`: absolute paths of scripts lie below it; empty: they are the machine's own. `home`:
  // where relative paths and `include` start.
  explicit Paths(std::string home, std::string root = {});

  // Throws PermissionDenied: `..`, a control character, a link that leads out of the root, a scheme
  // (`s3://…`) that nobody serves.
  std::string file(const std::string& path, const Place& place) const;
  // The same for what is going to be read: with a root, what lies in the folder, or matches the
  // pattern, may not lead out of it either.
  std::string input(const std::string& path, const Place& place) const;
  // ``demo.`tf.py_train.mlsql` ``: dots are folders below home. Throws NotFound with the place
  // where it was looked for.
  std::string script(const std::string& project, const std::string& path, const Place& place) const;

  const std::string& home() const { return home_; }

 private:
  void check_text(const std::string& path, const Place& place) const;
  std::string below(const std::string& base, const std::string& path, const Place& place) const;

  std::string home_, root_;
};

}  // namespace capstan::script
