#pragma once

// A piece made ready to run on a task: folded, fused, its memory laid out. Threads share a Program;
// each run borrows a Frame (values and scratch) from it.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "kernel/context.h"
#include "plan/plan.h"

namespace capstan {

class Frame;

// What is known of the inputs when memory is laid out.
enum class Foresight : uint8_t {
  kGiven,     // the shapes that come in; a layout for each set of them, up to a limit
  kDeclared,  // what the piece's arguments declare: one layout for all
  kNothing,   // neither: as when values come in other shapes than declared, beyond the limit
};

struct ProgramOptions {
  // Where output i gets its bytes in a run, when its size is known beforehand (memory that a peer
  // can see, say); asked anew for each run. An invalid Tensor means "as usual".
  std::function<Tensor(int output, DType dtype, const Shape& shape)> output_memory;
  // Outputs that later parts of this task's step take.
  std::set<int> taken_later;
  // Lets go of the inputs as soon as a run has ended, even while its result is held.
  bool release_inputs = false;
  // The network comes next: the pool's helpers leave their cores to it as soon as a run has ended.
  bool rest = false;
  // Called now and then between the ops of a long run, on its thread; what it throws ends the run.
  std::function<void()> on_tick;
  // How a piece is made ready. None of it changes a result, which is what tests use it for.
  bool fuse = true;
  bool fold = true;
  bool in_place = true;  // an element-wise action may write where an operand was
  Foresight foresight = Foresight::kGiven;
};

// What a run leaves: output values, valid while the frame is held.
struct ProgramResult {
  std::vector<Tensor> outputs;
  std::shared_ptr<Frame> frame;  // goes back to the program's pool when released
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  // Binds variables and resources of the task. Throws InvalidArgument for a piece that cannot run
  // here (no kernel for a type, a variable of another dtype).
  static std::shared_ptr<Program> make(Piece piece, std::shared_ptr<TaskState> task,
                                       std::shared_ptr<SessionState> session,
                                       ProgramOptions options = {});
  virtual ~Program() = default;

  // Whether the piece holds an op that may wait.
  virtual bool blocking() const = 0;
  // Rough cost of one run in microseconds once it has run; decides whether it runs on an io thread.
  virtual double cost_us() const = 0;

  // Runs on the calling thread. Only for programs that do not block.
  virtual ProgramResult run(std::span<const Tensor> inputs, Cancellation& cancellation) = 0;
  // Runs until the op that waits; the rest runs through TaskState::post. `done` is called exactly
  // once, with an error or a result, from any thread (perhaps before start returns).
  using Done = std::function<void(const Error*, ProgramResult)>;
  virtual void start(std::vector<Tensor> inputs, Cancellation& cancellation, Done done) = 0;
};

}  // namespace capstan
