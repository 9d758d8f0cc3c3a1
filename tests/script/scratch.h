#pragma once

// An empty folder that goes with the test.

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace capstan::script {

class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / "script-XXXXXX") {
    path_ = std::filesystem::canonical(mkdtemp(path_.data())).string();
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace capstan::script
