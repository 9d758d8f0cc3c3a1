#pragma once

// A plan made ready: local segments compiled, remote ones shipped. Shared by threads.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/protocol.h"
#include "exec/program.h"
#include "plan/plan.h"

namespace capstan {

class Executable {
 public:
  struct Part {
    int task = 0;
    std::shared_ptr<Program> program;  // local parts
    uint64_t shipped = 0;              // remote parts: the id of the piece on its task
    std::shared_ptr<void> lease;       // and with its end the task may let go of it
    std::vector<Source> inputs;
    std::vector<int> next;    // parts that wait for this one
    int waits_for = 0;        // how many parts this one waits for
    std::vector<int> givers;  // parts that its inputs come from, each once
    int takers = 0;           // parts that take its outputs, and the caller if it fetches some
    int outputs = 0;
    bool blocking = false;
    std::string label;  // what is said of a step that waits for it
  };

  std::vector<Output> feeds;
  std::vector<Part> parts;
  std::vector<Source> fetches;
  // Set when another task conducts: the run by names, and no parts.
  std::optional<RunRequest> by_name;
  // One local part that never waits: run on the calling thread with nothing around it.
  bool simple = false;

  // Throws InvalidArgument naming the tensor when a fed value does not fit it.
  void check_feeds(std::span<const Tensor> values) const;
};

}  // namespace capstan
