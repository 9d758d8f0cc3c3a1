#pragma once

// Runs block functions over whole tensors: broadcasting, threads and tiles are here, once, for all
// element-wise rows. A chain of element-wise nodes runs tile by tile through the same functions.
//
//   ElementwiseChain chain({{block, {0, 1}, DType::kFloat}}, {DType::kFloat, DType::kFloat}, {2});
//   BoundChain bound = chain.bind(shapes, output_shape);  // once per set of shapes
//   bound.run(inputs, outputs, pool);                     // every step; allocates nothing

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "graph/op_def.h"
#include "kernel/strided.h"
#include "tensor/tensor.h"

namespace capstan {

// One op of a chain. Registers 0..inputs-1 are the chain's inputs, then one per op in order.
struct ChainOp {
  BlockFn block;
  std::vector<int> args;  // registers
  DType out;
};

// A chain made ready for given shapes. Immutable; run() is thread-safe and does not depend on the
// number of threads.
class BoundChain {
 public:
  // Tensors of the shapes that were bound. An output may be the very memory of an input that has
  // the output's shape and element size; else they are apart.
  void run(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
           ThreadPool& pool) const;

 private:
  friend class ElementwiseChain;
  struct Source {
    enum class Kind : uint8_t {
      kFull,      // as it lies
      kConstant,  // a scalar, or rows that repeat: one tile, filled once
      kRowCopy,   // within one row as it lies
      kRowFill,   // one element per row
      kGather,    // collected for each tile
    };
    Kind kind = Kind::kFull;
    size_t element = 0;
    size_t scratch = 0;  // kConstant, kRowFill, kGather; for kFull where to stage
    bool may_stage = false;
  };
  struct Op {
    BlockFn block;
    std::vector<int> args;
    size_t scratch;  // kept ops have none
    bool kept;
  };
  // Within a piece: where each register's tile lies.
  struct Tiles;

  void run_direct(std::span<const Tensor* const> inputs, Tensor& output, ThreadPool& pool) const;
  void run_piece(int64_t piece, std::span<const Tensor* const> inputs,
                 std::span<Tensor* const> outputs) const;
  void fill_constants(std::span<const Tensor* const> inputs, Tiles& tiles) const;
  void move_inputs(std::span<const Tensor* const> inputs, Tiles& tiles) const;
  void move_outputs(std::span<Tensor* const> outputs, Tiles& tiles) const;
  void run_ops(Tiles& tiles) const;

  MergedDims dims_;  // strides by input
  std::vector<Source> sources_;
  std::vector<Op> ops_;
  std::vector<std::pair<int, size_t>> keep_;     // op, element size
  std::vector<std::pair<int, int>> late_reads_;  // output, input read after that output is written
  bool direct_ = false;                          // one op, all operands as they lie
  bool by_row_ = false;                          // tiles stay within a row
  int64_t elements_ = 0, tile_ = 0, tiles_per_row_ = 1;
  int64_t tiles_ = 0, tiles_per_piece_ = 1, pieces_ = 0;
  size_t scratch_bytes_ = 0;
};

// A fused chain. Immutable.
class ElementwiseChain {
 public:
  static constexpr size_t kMaxRegisters = 128;  // inputs and ops together
  static constexpr size_t kMaxArgs = 12;        // of one op

  // `keep`: registers of ops whose values are outputs, in order, each once.
  ElementwiseChain(std::vector<ChainOp> ops, std::vector<DType> input_types, std::vector<int> keep);

  // Inputs broadcast to `shape`; outputs have just that shape. Throws InvalidArgument naming the
  // shapes when an input does not broadcast.
  BoundChain bind(std::span<const Shape* const> inputs, const Shape& shape) const;

  // For shapes seen once: bind() and run().
  void run(std::span<const Tensor* const> inputs, const Shape& shape,
           std::span<Tensor* const> outputs, ThreadPool& pool) const;

 private:
  void cut(BoundChain& bound) const;
  void bind_sources(BoundChain& bound, std::span<const Shape* const> inputs) const;
  void bind_ops(BoundChain& bound) const;
  void find_late_reads(BoundChain& bound) const;

  std::vector<ChainOp> ops_;
  std::vector<DType> input_types_;
  std::vector<int> keep_;
  std::vector<int> last_use_;  // by register: the op that reads it last, or -1
};

}  // namespace capstan
