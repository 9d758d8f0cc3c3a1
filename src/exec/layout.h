#pragma once

// A piece made concrete for one set of input shapes: which nodes really run and in which order,
// what is constant, and where each value lies in memory. Immutable; frames are made from it.

#include <memory>
#include <span>
#include <vector>

#include "exec/program.h"

namespace capstan {

// How a value of the piece gets its bytes.
enum class Storage : uint8_t {
  kNone,      // no value: a variable's reference, an op that does not run
  kConstant,  // known beforehand
  kArgument,  // given by the caller, anew in each run
  kArena,     // laid out: at `offset` of the frame's memory, in every run
  kAlias,     // the bytes of value `root`, laid out, under another shape
  kDynamic,   // the kernel brings its own
};

struct Value {
  Storage storage = Storage::kNone;
  DType dtype = DType::kInvalid;
  Shape shape = Shape::unknown();
  Tensor constant;
  size_t offset = 0;
  int root = -1;   // the value whose bytes it has; itself unless an alias
  int first = -1;  // positions in `actions` between which its bytes are needed (roots only)
  int last = -1;
  int output = -1;              // the first output of the piece that it is, or -1
  bool aliased_output = false;  // some output of the piece has its bytes
};

// One thing to do: a kernel, or a chain of element-wise nodes.
struct Action {
  enum class Kind : uint8_t { kKernel, kChain, kRead, kSharedRead, kCopyRead, kBlocking };
  Kind kind = Kind::kKernel;
  std::vector<const Node*> nodes;  // one, but for chains
};

struct Layout {
  std::vector<Shape> inputs;     // what it was made for
  bool reshaped = false;         // made for variables of any shape, whatever their nodes declare
  std::vector<Value> values;     // by value number
  std::vector<int> first_value;  // by node id: number of its output 0
  std::vector<Action> actions;
  size_t arena_bytes = 0;

  int value_of(Output o) const { return first_value[size_t(o.node->id())] + o.index; }
  int value_of(const Node& node, int i) const { return first_value[size_t(node.id())] + i; }
};

// Of inputs whose shapes are unknown nothing is foreseen: their users find room when they run.
std::unique_ptr<Layout> make_layout(const Piece& piece, std::vector<Shape> inputs, RunContext& run,
                                    const ProgramOptions& options);

// The variable behind input i of a node, when it takes a reference or reads one; else null.
const Node* variable_input(const Node& node, int i);
// A node that reads a variable: Identity of its reference.
bool is_read(const Node& node);

}  // namespace capstan
