#include "kernel/elementwise.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace capstan {
namespace {

constexpr int64_t kTile = 1024;        // elements: a few tiles fit the first-level cache
constexpr int64_t kPiece = 64 * 1024;  // element operations that are worth a thread's attention
constexpr size_t kStackScratch = 48 * 1024;
constexpr size_t kAlign = 64;

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Memory of the innermost loops: on the stack unless the chain is unusually long.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : data_(stack_) {
    if (bytes <= kStackScratch) return;
    heap_.reset(static_cast<char*>(std::aligned_alloc(kAlign, aligned(bytes))));
    if (!heap_) throw resource_exhausted("cannot allocate {} bytes for a fused chain", bytes);
    data_ = heap_.get();
  }
  char* data() { return data_; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  alignas(kAlign) char stack_[kStackScratch];
  std::unique_ptr<char, Free> heap_;
  char* data_;
};

// Hands out equal slots of scratch memory and takes them back.
class Slots {
 public:
  Slots(size_t begin, size_t slot) : end_(begin), slot_(slot) {}
  size_t take() {
    if (free_.empty()) {
      free_.push_back(end_);
      end_ += slot_;
    }
    size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(size_t slot) { free_.push_back(slot); }
  size_t end() const { return end_; }

 private:
  size_t end_;
  const size_t slot_;
  std::vector<size_t> free_;
};

}  // namespace

struct BoundChain::Tiles {
  char* scratch;
  int64_t row = -1, start = 0, length = 0;  // row: of the tile before, for sources filled by row
  int64_t index = 0;
  std::array<bool, ElementwiseChain::kMaxRegisters> staged;
  std::array<void*, ElementwiseChain::kMaxRegisters> at;  // by register
};

// --- Binding -------------------------------------------------------------------------------------

ElementwiseChain::ElementwiseChain(std::vector<ChainOp> ops, std::vector<DType> input_types,
                                   std::vector<int> keep)
    : ops_(std::move(ops)), input_types_(std::move(input_types)), keep_(std::move(keep)) {
  CAPSTAN_CHECK(ops_.size() + input_types_.size() <= kMaxRegisters);
  last_use_.assign(ops_.size() + input_types_.size(), -1);
  for (size_t op = 0; op < ops_.size(); ++op) {
    CAPSTAN_CHECK(ops_[op].args.size() <= kMaxArgs);
    for (int arg : ops_[op].args) last_use_[size_t(arg)] = int(op);
  }
}

BoundChain ElementwiseChain::bind(std::span<const Shape* const> inputs, const Shape& shape) const {
  BoundChain bound;
  bound.elements_ = shape.elements();
  bound.dims_ = merge_dims(inputs, shape);
  if (bound.elements_ == 0) return bound;
  cut(bound);
  bind_sources(bound, inputs);
  bound.direct_ = ops_.size() == 1 && std::ranges::all_of(bound.sources_, [](const auto& source) {
                    return source.kind == BoundChain::Source::Kind::kFull;
                  });
  bind_ops(bound);
  find_late_reads(bound);
  return bound;
}

// The cut follows from the shapes alone.
void ElementwiseChain::cut(BoundChain& bound) const {
  const int64_t n = bound.elements_;
  const int64_t inner = bound.dims_.inner();
  bound.by_row_ = bound.dims_.rank > 1 && inner >= kTile / 2;
  if (bound.by_row_) {
    bound.tiles_per_row_ = ceil_div(inner, kTile);
    bound.tile_ = int64_t(aligned(size_t(ceil_div(inner, bound.tiles_per_row_))));
    bound.tiles_per_row_ = ceil_div(inner, bound.tile_);
    bound.tiles_ = n / inner * bound.tiles_per_row_;
  } else {
    // Whole rows, so that a row which repeats fills a tile that repeats.
    bound.tile_ = bound.dims_.rank > 1 ? std::max<int64_t>(1, kTile / inner) * inner : kTile;
    bound.tile_ = std::min(bound.tile_, n);
    bound.tiles_ = ceil_div(n, bound.tile_);
  }
  const int64_t piece = std::max<int64_t>(kPiece / int64_t(ops_.size()), 8 * kTile);
  bound.tiles_per_piece_ = ceil_div(piece, bound.tile_);
  if (bound.tiles_ < 2 * bound.tiles_per_piece_) bound.tiles_per_piece_ = bound.tiles_;
  bound.pieces_ = ceil_div(bound.tiles_, bound.tiles_per_piece_);
}

void ElementwiseChain::bind_sources(BoundChain& bound, std::span<const Shape* const> inputs) const {
  using Kind = BoundChain::Source::Kind;
  const auto rank = size_t(bound.dims_.rank);
  for (size_t i = 0; i < inputs.size(); ++i) {
    BoundChain::Source source{.element = dtype_size(input_types_[i])};
    if (inputs[i]->elements() != bound.elements_) {
      const Strides& strides = bound.dims_.strides[i];
      const bool repeats = std::all_of(strides.begin(), strides.begin() + long(rank) - 1,
                                       [](int64_t s) { return s == 0; });
      const bool scalar = repeats && strides[rank - 1] == 0;
      if (scalar || (repeats && !bound.by_row_)) {
        source.kind = Kind::kConstant;
      } else if (bound.by_row_) {
        source.kind = strides[rank - 1] == 0 ? Kind::kRowFill : Kind::kRowCopy;
      } else {
        source.kind = Kind::kGather;
      }
    }
    if (source.kind != Kind::kFull && source.kind != Kind::kRowCopy) {
      source.scratch = bound.scratch_bytes_;
      bound.scratch_bytes_ += aligned(size_t(bound.tile_) * source.element);
    }
    bound.sources_.push_back(source);
  }
}

void ElementwiseChain::bind_ops(BoundChain& bound) const {
  const int inputs = int(input_types_.size());
  size_t widest = 1;
  for (const ChainOp& op : ops_) widest = std::max(widest, dtype_size(op.out));
  Slots slots(bound.scratch_bytes_, aligned(size_t(bound.tile_) * widest));
  auto release = [&](const ChainOp& op, int index, bool same_size) {
    for (size_t a = 0; a < op.args.size(); ++a) {
      const int arg = op.args[a];
      const bool again =
          std::find(op.args.begin(), op.args.begin() + long(a), arg) != op.args.begin() + long(a);
      if (again || arg < inputs || last_use_[size_t(arg)] != index) continue;
      const ChainOp& maker = ops_[size_t(arg - inputs)];
      if (bound.ops_[size_t(arg - inputs)].kept) continue;
      if ((dtype_size(maker.out) == dtype_size(op.out)) == same_size) {
        slots.give(bound.ops_[size_t(arg - inputs)].scratch);
      }
    }
  };
  for (int i = 0; i < int(ops_.size()); ++i) {
    const ChainOp& op = ops_[size_t(i)];
    const bool kept = std::ranges::count(keep_, inputs + i) > 0;
    // A block may write over an argument of its own element size, never over another.
    release(op, i, true);
    bound.ops_.push_back({op.block, op.args, kept ? 0 : slots.take(), kept});
    release(op, i, false);
  }
  bound.scratch_bytes_ = slots.end();
}

// An output that shares the memory of an input must not be written before that input's last reader
// has run; the run then works on a staged copy of the tile.
void ElementwiseChain::find_late_reads(BoundChain& bound) const {
  const int inputs = int(input_types_.size());
  for (int k = 0; k < int(keep_.size()); ++k) {
    const int op = keep_[size_t(k)] - inputs;
    bound.keep_.emplace_back(op, dtype_size(ops_[size_t(op)].out));
    for (int i = 0; i < inputs; ++i) {
      BoundChain::Source& source = bound.sources_[size_t(i)];
      if (last_use_[size_t(i)] <= op || source.kind != BoundChain::Source::Kind::kFull) continue;
      bound.late_reads_.emplace_back(k, i);
      if (source.may_stage) continue;
      source.may_stage = true;
      source.scratch = bound.scratch_bytes_;
      bound.scratch_bytes_ += aligned(size_t(bound.tile_) * source.element);
    }
  }
}

// --- Running -------------------------------------------------------------------------------------

void BoundChain::run(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                     ThreadPool& pool) const {
  if (elements_ == 0) return;
  if (direct_) return run_direct(inputs, *outputs[0], pool);
  if (pieces_ == 1) return run_piece(0, inputs, outputs);
  pool.parallel_for(pieces_, [&](int64_t piece) { run_piece(piece, inputs, outputs); });
}

void BoundChain::run_direct(std::span<const Tensor* const> inputs, Tensor& output,
                            ThreadPool& pool) const {
  const Op& op = ops_[0];
  auto run = [&](int64_t start, int64_t length) {
    const void* in[ElementwiseChain::kMaxArgs];
    for (size_t a = 0; a < op.args.size(); ++a) {
      const auto i = size_t(op.args[a]);
      in[a] = inputs[i]->data<char>() + size_t(start) * sources_[i].element;
    }
    op.block(in, output.data<char>() + size_t(start) * keep_[0].second, length);
  };
  if (pieces_ == 1) return run(0, elements_);
  const int64_t step = tiles_per_piece_ * tile_;
  pool.parallel_for(
      pieces_, [&](int64_t piece) { run(piece * step, std::min(step, elements_ - piece * step)); });
}

void BoundChain::run_piece(int64_t piece, std::span<const Tensor* const> inputs,
                           std::span<Tensor* const> outputs) const {
  Scratch scratch(scratch_bytes_);
  Tiles tiles;
  tiles.scratch = scratch.data();
  for (size_t i = 0; i < sources_.size(); ++i) tiles.staged[i] = false;
  for (auto [output, input] : late_reads_) {
    tiles.staged[size_t(input)] |= outputs[size_t(output)]->raw() == inputs[size_t(input)]->raw();
  }
  for (size_t i = 0; i < ops_.size(); ++i)
    tiles.at[sources_.size() + i] = tiles.scratch + ops_[i].scratch;
  fill_constants(inputs, tiles);
  const int64_t first = piece * tiles_per_piece_;
  const int64_t last = std::min(first + tiles_per_piece_, tiles_);
  for (tiles.index = first; tiles.index < last; ++tiles.index) {
    move_inputs(inputs, tiles);
    move_outputs(outputs, tiles);
    run_ops(tiles);
  }
}

void BoundChain::fill_constants(std::span<const Tensor* const> inputs, Tiles& tiles) const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    if (source.kind != Source::Kind::kConstant) continue;
    tiles.at[i] = tiles.scratch + source.scratch;
    const Strides& strides = dims_.strides[i];
    if (dims_.rank == 0 || strides[size_t(dims_.rank - 1)] == 0) {
      fill_elements(tiles.at[i], inputs[i]->raw(), source.element, tile_);
    } else {
      repeat_row(tiles.at[i], inputs[i]->raw(), size_t(dims_.inner()) * source.element,
                 tile_ / dims_.inner());
    }
  }
}

void BoundChain::move_inputs(std::span<const Tensor* const> inputs, Tiles& tiles) const {
  const int64_t row = by_row_ ? tiles.index / tiles_per_row_ : 0;
  const int64_t column = (by_row_ ? tiles.index % tiles_per_row_ : tiles.index) * tile_;
  const int64_t inner = dims_.inner();
  tiles.start = by_row_ ? row * inner + column : column;
  tiles.length = std::min(tile_, by_row_ ? inner - column : elements_ - column);
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    auto* data = const_cast<char*>(inputs[i]->data<char>());
    char* own = tiles.scratch + source.scratch;
    switch (source.kind) {
      case Source::Kind::kConstant: break;
      case Source::Kind::kFull:
        tiles.at[i] = data + size_t(tiles.start) * source.element;
        if (!tiles.staged[i]) break;
        tiles.at[i] = std::memcpy(own, tiles.at[i], size_t(tiles.length) * source.element);
        break;
      case Source::Kind::kRowCopy:
        tiles.at[i] =
            data + size_t(row_offset(dims_, dims_.strides[i], row) + column) * source.element;
        break;
      case Source::Kind::kRowFill:
        tiles.at[i] = own;
        if (row == tiles.row) break;
        fill_elements(own, data + size_t(row_offset(dims_, dims_.strides[i], row)) * source.element,
                      source.element, tile_);
        break;
      case Source::Kind::kGather:
        tiles.at[i] = own;
        gather_rows(dims_, dims_.strides[i], data, source.element, tiles.start / inner,
                    tiles.length / inner, own);
        break;
    }
  }
  tiles.row = row;
}

void BoundChain::move_outputs(std::span<Tensor* const> outputs, Tiles& tiles) const {
  for (size_t k = 0; k < keep_.size(); ++k) {
    tiles.at[sources_.size() + size_t(keep_[k].first)] =
        outputs[k]->data<char>() + size_t(tiles.start) * keep_[k].second;
  }
}

void BoundChain::run_ops(Tiles& tiles) const {
  for (size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    const void* in[ElementwiseChain::kMaxArgs];
    for (size_t a = 0; a < op.args.size(); ++a) in[a] = tiles.at[size_t(op.args[a])];
    op.block(in, tiles.at[sources_.size() + i], tiles.length);
  }
}

void ElementwiseChain::run(std::span<const Tensor* const> inputs, const Shape& shape,
                           std::span<Tensor* const> outputs, ThreadPool& pool) const {
  std::vector<const Shape*> shapes;
  for (const Tensor* input : inputs) shapes.push_back(&input->shape());
  bind(shapes, shape).run(inputs, outputs, pool);
}

}  // namespace capstan
