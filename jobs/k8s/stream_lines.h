#pragma once

// Answers of an API server that come as text: JSON, bounded before it is taken in, and lines cut
// out of a stream that comes in pieces.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace capstan::jobs::k8s {

// Throws DataLoss for what is no JSON, or nests deeper than any object of Kubernetes.
nlohmann::json parse_answer(std::string_view text);

// One line of a watch: {"type":"ADDED","object":{…}}. Throws DataLoss.
void read_watch_line(std::string_view line,
                     FunctionRef<void(std::string_view type, nlohmann::json&& object)> told);

class LineCutter {
 public:
  explicit LineCutter(size_t most) : most_(most) {}

  // Hands on each whole line, without its newline, until `told` returns false, which drops what
  // follows. False: a line is longer than it may be; what there is of it is in take_rest().
  bool feed(std::string_view bytes, FunctionRef<bool(std::string_view line)> told);
  // What came behind the last newline.
  std::string take_rest();

 private:
  const size_t most_;
  std::string rest_;
};

}  // namespace capstan::jobs::k8s
