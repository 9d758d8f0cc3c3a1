#pragma once

// Device strings in all the forms that programs write: "/job:ps/task:0/cpu:0", "job:ps/task:0",
// "/job:worker/replica:0/task:1/device:CPU:0", "/gpu:0", "".

#include <optional>
#include <string>
#include <string_view>

namespace capstan {

struct Device {
  std::optional<std::string> job;
  std::optional<int> replica, task, index;
  std::optional<std::string> type;  // "CPU", "GPU"

  // Throws InvalidArgument naming the part that cannot be read.
  static Device parse(std::string_view text);
  // TensorFlow's canonical text: "/job:ps/replica:0/task:1/device:CPU:0", with what is set.
  std::string text() const;
  // Fields of `over` win over this one's.
  Device merged_with(const Device& over) const;
};

}  // namespace capstan
