#pragma once

// An op, whole, in one row of constexpr data: schema, shape, kernel, gradient, samples. Rows live
// in src/ops, one file per family; everything else that knows ops (Python functions, docs, checks,
// micro-benchmarks) is derived from them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "base/isa.h"
#include "tensor/block.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace capstan {

class AttrMap;
class GradContext;
class KernelContext;
class Node;
class ShapeContext;
struct Output;

// A constexpr list with room for N items.
template <class T, size_t N>
struct RowList {
  constexpr RowList() = default;
  constexpr RowList(std::initializer_list<T> list) {
    for (const T& item : list) items[count++] = item;
  }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  constexpr size_t size() const { return count; }
  constexpr const T& operator[](size_t i) const { return items[i]; }
  T items[N] = {};
  size_t count = 0;
};

// type: an attr of kind "type" ("T"), a fixed type ("float", "int32", "string"), "N*T" (N from an
// int attr, all of type T), or an attr of kind "list(type)". "Ref(T)" marks a variable's reference.
// rank: the one that each tensor of an input has; shape functions and kernels see no other.
struct ArgDef {
  std::string_view name, type;
  int rank = kAnyRank;
  static constexpr int kAnyRank = -1;
};

// kind: "type", "type:float|double|int32" (the allowed ones), "bool", "int", "float", "string",
// "shape", "tensor", or "list(...)" of these; "int>=1" and "list(type)>=1" say the least value or
// length. value: the default as text ("true", "0.5", "float", "[]", "''"), or "" when the attr must
// be given or can be inferred from the inputs.
struct AttrDef {
  std::string_view name, kind, value = {};
};

using Values = std::vector<Output>;  // one gradient per input; a default Output means none

struct OpDef {
  std::string_view name;
  // The names of its Python function, as "cumsum math.cumsum"; "" where that is written by hand, or
  // only in tf.raw_ops. What its parameters are called, their order and their defaults follow where
  // they are not the row's own: "(x, axis=0, exclusive, reverse)", "(input_:input, data)" for one
  // that is called otherwise. Inputs come first, then attrs without a default, then the others,
  // then `name`.
  std::string_view python = {};
  std::string_view doc;
  RowList<ArgDef, 12> inputs, outputs;
  RowList<AttrDef, 14> attrs;

  // Sets the output shapes; throws InvalidArgument for inputs that clash.
  void (*shape)(ShapeContext&) = nullptr;

  // Exactly one of the following three runs the op.
  void (*kernel)(KernelContext&) = nullptr;
  // Element-wise rows only: the block function for this input type, or null. All inputs broadcast,
  // unless `equal_inputs` says that they must have one shape.
  BlockFn (*block)(DType in, Isa isa) = nullptr;
  bool equal_inputs = false;
  // May wait. Calls ctx.done() (now, or later from any thread) exactly once; see KernelContext.
  void (*blocking)(KernelContext&) = nullptr;

  // Made once per node and program, handed to the kernel as ctx.state<T>(): parsed attrs and the
  // like.
  std::shared_ptr<void> (*prepare)(const Node&) = nullptr;

  // Appends the nodes that TensorFlow's gradient of this op appends, under its names.
  Values (*gradient)(GradContext&) = nullptr;
  bool no_gradient = false;  // known to have none: a gradient stops here in silence

  // Output 0 is input 0's bytes, perhaps under another shape (Identity, Reshape): no work to do.
  bool forwards = false;
  // Output 0 is input 0's own tensor, but there is work to do (Print): it gets no place of its own,
  // and the input's bytes live as long as it does.
  bool hands_on = false;
  // Its values are elements of the inputs that have input 0's type, wherever it takes them from
  // (Pack, StridedSlice): an element that is known stays known beside others that are not.
  bool moves = false;
  bool constant = false;     // its value is its attr "value"
  bool from_shapes = false;  // reads no byte of its inputs, only their shapes (Shape, Size)
  // tf.get_static_value() sees through it; which nodes TensorFlow's Python makes depends on that.
  bool foretold = false;
  bool stateful = false;  // never folded, never shared
  bool variable = false;  // its output 0 is the reference of a variable in the task's store
  bool allows_uninitialized_ref = false;  // Assign, IsVariableInitialized
  // Which ref inputs are written, as a bit mask over the inputs. 0 for ops that only read them.
  uint32_t writes = 0;
  constexpr bool writes_input(size_t i) const { return i < 32 && (writes >> i & 1); }

  // Inputs for the derived checks, for example "float[2,3] float[3,4] transpose_a=true". Values are
  // drawn from a seed in [-1,1], or as "float[3]{1,2,3}", or within bounds as "float[3](0.5,2)".
  RowList<std::string_view, 4> samples = {};

  constexpr OpDef in_python(std::string_view names) const {
    OpDef row = *this;
    row.python = names;
    return row;
  }
};

}  // namespace capstan
