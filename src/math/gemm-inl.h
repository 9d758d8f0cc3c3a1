// The matrix product of one thread, compiled once per instruction set (see Highway's -inl headers).
// Tiles of out are held in registers while they walk the depth. A panel of right, a few vectors
// wide, is copied beside itself by the first tile that reads it (for free: the store port is idle),
// so that the other tiles read it as one stream. left is never copied.

#if defined(CAPSTAN_MATH_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_MATH_GEMM_INL_H_
#undef CAPSTAN_MATH_GEMM_INL_H_
#else
#define CAPSTAN_MATH_GEMM_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "hwy/highway.h"
#include "math/gemm_args.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(T);

// Rows of a tile by its width in vectors: what the registers hold.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows[] = {0, 12, 14, 8};
#else
constexpr int kTileRows[] = {0, 8, 6, 4};
#endif
constexpr int kMaxTileRows = 14;
constexpr int kMaxVectors = 3;

// Rows of left that are walked for each panel: what stays in the second-level cache.
constexpr int64_t kLeftBytes = 400 * 1024;
// Panels that are walked together for each row of tiles, so that out is written along its rows.
constexpr int64_t kGroupBytes = 64 * 1024;
constexpr int kMaxGroup = 16;
constexpr int64_t kPrefetchSteps = 8;

template <class T>
struct Tile {
  const T* left;
  int64_t left_stride;  // of rows, or of steps where rows are adjacent
  const T* right;
  int64_t right_step;
  T* out;
  int64_t out_row;
  T* copy;  // of right; used by tiles with kCopy
  int64_t depth;
  bool add;
};

template <class T>
using TileFn = void (*)(const Tile<T>&);

template <class T, int kRows, int kVectors, bool kRowsAdjacent, bool kCopy>
void run_tile(const Tile<T>& tile) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kL = kLanes<T>;
  const T* HWY_RESTRICT left = tile.left;
  const T* HWY_RESTRICT right = tile.right;
  T* HWY_RESTRICT copy = tile.copy;
  const int64_t left_stride = tile.left_stride, right_step = tile.right_step;
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  for (int64_t p = tile.depth; p > 0; --p) {
    V r[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      r[j] = hn::LoadU(d, right + j * kL);
      if (kCopy) hn::StoreU(r[j], d, copy + j * kL);
    }
    if (kCopy) {
      __builtin_prefetch(right + kPrefetchSteps * right_step);
      __builtin_prefetch(right + kPrefetchSteps * right_step + kVectors * kL - 1);
      copy += kVectors * kL;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const V l = hn::Set(d, left[kRowsAdjacent ? i : i * left_stride]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(l, r[j], sum[i][j]);
    }
    right += right_step;
    left += kRowsAdjacent ? left_stride : 1;
  }
  T* HWY_RESTRICT out = tile.out;
  const int64_t out_row = tile.out_row;
  if (tile.add) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j)
        sum[i][j] = hn::Add(hn::LoadU(d, out + i * out_row + j * kL), sum[i][j]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) hn::StoreU(sum[i][j], d, out + i * out_row + j * kL);
}

// Tiles of 1, 2, ... rows, at index rows - 1.
template <class T, int kVectors, bool kRowsAdjacent, bool kCopy, int... kRows>
constexpr auto tile_table(std::integer_sequence<int, kRows...>) {
  return std::array<TileFn<T>, sizeof...(kRows)>{
      &run_tile<T, kRows + 1, kVectors, kRowsAdjacent, kCopy>...};
}

template <class T, int kVectors, bool kRowsAdjacent, bool kCopy>
const TileFn<T>* tiles_of_width() {
  static constexpr auto kTable = tile_table<T, kVectors, kRowsAdjacent, kCopy>(
      std::make_integer_sequence<int, kTileRows[kVectors]>());
  return kTable.data();
}

template <class T, bool kRowsAdjacent, bool kCopy>
const TileFn<T>* find_tiles(int vectors) {
  if (vectors == 1) return tiles_of_width<T, 1, kRowsAdjacent, kCopy>();
  if (vectors == 2) return tiles_of_width<T, 2, kRowsAdjacent, kCopy>();
  return tiles_of_width<T, 3, kRowsAdjacent, kCopy>();
}

template <class T>
const TileFn<T>* find_tiles(int vectors, bool rows_adjacent, bool copy) {
  if (rows_adjacent)
    return copy ? find_tiles<T, true, true>(vectors) : find_tiles<T, true, false>(vectors);
  return copy ? find_tiles<T, false, true>(vectors) : find_tiles<T, false, false>(vectors);
}

// The first `count` of fewer than all lanes at `from`, zeros behind; reads nothing else.
template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> load_first(const T* from, int64_t count) {
  const hn::ScalableTag<T> d;
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN T lanes[kLanes<T>] = {};
  for (int64_t j = 0; j < count; ++j) lanes[j] = from[j];
  return hn::Load(d, lanes);
#endif
}

// Copies columns that are stored side by side.
template <class T>
void copy_rows(const T* right, int64_t step, int64_t depth, int64_t cols, int64_t width, T* to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kL = kLanes<T>;
  const int64_t whole = cols / kL * kL;
  for (; depth > 0; --depth, to += width, right += step) {
    int64_t j = 0;
    for (; j < whole; j += kL) hn::StoreU(hn::LoadU(d, right + j), d, to + j);
    if (j < cols) hn::StoreU(load_first(right + j, cols - j), d, to + j), j += kL;
    for (; j < width; j += kL) hn::StoreU(hn::Zero(d), d, to + j);
  }
}

// to[p, j] = from[j, p] for four of each.
HWY_INLINE void transpose_4x4(const float* from, int64_t from_row, float* to, int64_t to_row) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> pairs;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_row);
  const auto e = hn::LoadU(d, from + 2 * from_row), f = hn::LoadU(d, from + 3 * from_row);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ef_low = hn::BitCast(pairs, hn::InterleaveLower(d, e, f));
  const auto ef_high = hn::BitCast(pairs, hn::InterleaveUpper(d, e, f));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ef_low)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ef_low)), d, to + to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ef_high)), d, to + 2 * to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ef_high)), d, to + 3 * to_row);
}

HWY_INLINE void transpose_4x4(const double* from, int64_t from_row, double* to, int64_t to_row) {
  for (int j = 0; j < 4; ++j)
    for (int p = 0; p < 4; ++p) to[p * to_row + j] = from[j * from_row + p];
}

// Copies columns that are stored one after another.
template <class T>
void copy_columns(const T* right, int64_t col, int64_t depth, int64_t cols, int64_t width, T* to) {
  for (int64_t j = 0; j < width; j += std::min<int64_t>(4, width - j)) {
    int64_t p = 0;
    if (j + 4 <= cols)
      for (; p + 4 <= depth; p += 4)
        transpose_4x4(right + p + j * col, col, to + p * width + j, width);
    const int64_t end = std::min(j + 4, width);
    for (; p < depth; ++p)
      for (int64_t jj = j; jj < end; ++jj)
        to[p * width + jj] = jj < cols ? right[p + jj * col] : T(0);
  }
}

// Copies `count` elements in whole chunks of kChunk, then of half of it, and so on: masked stores
// are slow on some machines.
template <int64_t kChunk, class T>
HWY_INLINE void copy_some(const T* from, T* to, int64_t count) {
  for (; count >= kChunk; count -= kChunk, from += kChunk, to += kChunk)
    std::memcpy(to, from, kChunk * sizeof(T));
  if constexpr (kChunk > 1) copy_some<kChunk / 2>(from, to, count);
}

// Writes the part of a tile that lies inside out, or a tile of a transposed out.
template <class T>
void store_part(const T* tile, int64_t width, int64_t rows, int64_t cols, const GemmArgs<T>& g,
                T* out, bool add) {
  for (int64_t i = 0; i < rows; ++i) {
    const T* from = tile + i * width;
    T* to = out + i * g.out_row;
    if (g.out_col == 1 && !add) {
      copy_some<kLanes<T>>(from, to, cols);
    } else if (add) {
      for (int64_t j = 0; j < cols; ++j) to[j * g.out_col] += from[j];
    } else {
      for (int64_t j = 0; j < cols; ++j) to[j * g.out_col] = from[j];
    }
  }
}

// Some adjacent columns, as many as a tile is wide or fewer at the edge, over one depth block.
template <class T>
struct Panel {
  const T* right;
  int64_t step, first_col, cols;
  const TileFn<T>* tiles;  // of the next row of tiles
  T* copy;
};

struct Block {
  int64_t first_row, rows, first_step, depth;
};

template <class T>
Panel<T> make_panel(const GemmArgs<T>& g, const Block& block, int64_t first_col, int vectors,
                    T* copy) {
  const int64_t width = vectors * kLanes<T>;
  const int64_t cols = std::min(width, g.cols - first_col);
  const T* right = g.right + block.first_step * g.right_step + first_col * g.right_col;
  const bool adjacent = g.left_row == 1;
  if (g.right_col == 1 && cols == width) {
    const bool pays = block.rows > 2 * kTileRows[vectors];
    return {right, g.right_step, first_col, cols, find_tiles<T>(vectors, adjacent, pays), copy};
  }
  if (g.right_col == 1)
    copy_rows(right, g.right_step, block.depth, cols, width, copy);
  else
    copy_columns(right, g.right_col, block.depth, cols, width, copy);
  return {copy, width, first_col, cols, find_tiles<T>(vectors, adjacent, false), copy};
}

template <class T>
void run_panel(const GemmArgs<T>& g, const Panel<T>& panel, Tile<T>& tile, int64_t row,
               int64_t rows, int64_t width, T* buffer) {
  T* out = g.out + row * g.out_row + panel.first_col * g.out_col;
  const bool add = tile.add;
  tile.right = panel.right;
  tile.right_step = panel.step;
  tile.copy = panel.copy;
  if (panel.cols == width && g.out_col == 1) {
    tile.out = out;
    tile.out_row = g.out_row;
    panel.tiles[rows - 1](tile);
    return;
  }
  tile.out = buffer;
  tile.out_row = width;
  tile.add = false;
  panel.tiles[rows - 1](tile);
  store_part(buffer, width, rows, panel.cols, g, out, add);
  tile.add = add;
}

template <class T>
void run_group(const GemmArgs<T>& g, const Block& block, Panel<T>* panels, int count, int vectors) {
  const int64_t width = vectors * kLanes<T>;
  const bool adjacent = g.left_row == 1;
  const TileFn<T>* plain = find_tiles<T>(vectors, adjacent, false);
  const int64_t tile_rows = kTileRows[vectors];
  const int64_t tiles = (block.rows + tile_rows - 1) / tile_rows;
  HWY_ALIGN T buffer[kMaxTileRows * kMaxVectors * kLanes<T>];
  Tile<T> tile = {.left_stride = adjacent ? g.left_step : g.left_row,
                  .depth = block.depth,
                  .add = g.accumulate || block.first_step > 0};
  for (int64_t t = 0, row = block.first_row; t < tiles; ++t) {
    // As even as can be: short tiles leave registers idle.
    const int64_t rows = block.rows / tiles + (t < block.rows % tiles);
    tile.left = g.left + row * g.left_row + block.first_step * g.left_step;
    for (Panel<T>* panel = panels; panel != panels + count; ++panel) {
      run_panel(g, *panel, tile, row, rows, width, buffer);
      if (panel->tiles == plain) continue;
      panel->tiles = plain;
      panel->right = panel->copy;
      panel->step = width;
    }
    row += rows;
  }
}

// How many panels go together.
template <class T>
int64_t group_size(int64_t depth) {
  const int64_t bytes = 2 * kLanes<T> * depth * static_cast<int64_t>(sizeof(T));
  return std::clamp<int64_t>(kGroupBytes / std::max<int64_t>(bytes, 1), 1, kMaxGroup);
}

template <class T>
void run_block(const GemmArgs<T>& g, const Block& block, T* copies) {
  constexpr int64_t kL = kLanes<T>;
  const int64_t group = group_size<T>(block.depth);
  int64_t vectors = (g.cols + kL - 1) / kL;
  for (int64_t col = 0; vectors > 0;) {
    // Panels of two vectors, and where they do not come out even a last one of three.
    const int width = vectors == 3 ? 3 : vectors == 1 ? 1 : 2;
    Panel<T> panels[kMaxGroup] = {};
    int count = 0;
    T* copy = copies;
    do {
      panels[count++] = make_panel(g, block, col, width, copy);
      copy += block.depth * width * kL;
      col += width * kL;
      vectors -= width;
    } while (count < group && vectors >= width && vectors != 3);
    run_group(g, block, panels, count, width);
  }
}

template <class T>
int64_t rows_per_block(const GemmArgs<T>& g, int64_t depth) {
  // With one group of panels left is walked once, and need not stay anywhere.
  if (g.cols <= group_size<T>(depth) * 2 * kLanes<T>) return g.rows;
  const int64_t bytes = std::max<int64_t>(depth * static_cast<int64_t>(sizeof(T)), 1);
  return std::max<int64_t>(kLeftBytes / bytes, 2 * kMaxTileRows);
}

template <class T>
void run_gemm(const GemmArgs<T>& g) {
  constexpr int64_t kOnePanel = kMaxDepthBlock * kMaxVectors * kLanes<T>;
  HWY_ALIGN T copies[std::max<int64_t>(kOnePanel, kGroupBytes / sizeof(T))];
  const int64_t blocks = std::max<int64_t>((g.depth + g.depth_block - 1) / g.depth_block, 1);
  for (int64_t b = 0, step = 0; b < blocks; ++b) {
    const int64_t depth = g.depth / blocks + (b < g.depth % blocks);
    const int64_t max_rows = rows_per_block(g, depth);
    for (int64_t row = 0; row < g.rows; row += max_rows)
      run_block(g, Block{row, std::min(max_rows, g.rows - row), step, depth}, copies);
    step += depth;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif
