#include "io/tensor_slice.h"

#include <algorithm>
#include <charconv>

namespace capstan {
namespace {

[[noreturn]] void bad_box(const Shape& full, int dim, int64_t start, int64_t length) {
  throw invalid_argument("dimension {} of a slice begins at {} and has length {}: not inside {}",
                         dim, start, length, full);
}

// Offset of the first element of `inner` inside the row-major tensor that holds `outer`.
struct Strides {
  explicit Strides(const Box& box) {
    int64_t step = 1;
    for (int d = box.rank() - 1; d >= 0; --d) {
      by_dim[size_t(d)] = step;
      step *= box.length[d];
    }
  }
  std::array<int64_t, Shape::kMaxRank> by_dim{};
};

struct Copier {
  const Tensor& from;
  const Box& from_box;
  Tensor& to;
  const Box& to_box;
  Box common;
  Strides from_strides{from_box};
  Strides to_strides{to_box};
  int run_dim = 0;  // dimensions from here on are contiguous in both tensors
  int64_t run = 1;  // elements of such a piece

  void find_run() {
    run_dim = common.rank();
    while (run_dim > 0) {
      --run_dim;
      run *= common.length[run_dim];
      if (common.length[run_dim] != from_box.length[run_dim] ||
          common.length[run_dim] != to_box.length[run_dim]) {
        break;
      }
    }
  }

  void copy(int dim, int64_t from_at, int64_t to_at) {
    if (dim < common.rank()) {
      from_at += (common.start[size_t(dim)] - from_box.start[size_t(dim)]) *
                 from_strides.by_dim[size_t(dim)];
      to_at +=
          (common.start[size_t(dim)] - to_box.start[size_t(dim)]) * to_strides.by_dim[size_t(dim)];
    }
    if (dim >= run_dim) {
      if (dim + 1 < common.rank()) return copy(dim + 1, from_at, to_at);
      return copy_run(from_at, to_at);
    }
    for (int64_t i = 0; i < common.length[dim]; ++i) {
      copy(dim + 1, from_at + i * from_strides.by_dim[size_t(dim)],
           to_at + i * to_strides.by_dim[size_t(dim)]);
    }
  }

  void copy_run(int64_t from_at, int64_t to_at) {
    if (from.dtype() == DType::kString) {
      std::copy_n(from.data<std::string>() + from_at, run, to.data<std::string>() + to_at);
      return;
    }
    size_t size = dtype_size(from.dtype());
    std::memcpy(to.data<char>() + size_t(to_at) * size, from.data<char>() + size_t(from_at) * size,
                size_t(run) * size);
  }
};

// The numbers in a slice key sort as bytes do, though only their identity matters here: the length
// in bytes, then big-endian.
void put_ordered(std::string& out, uint64_t value) {
  std::string digits;
  for (; value > 0; value >>= 8) digits.insert(digits.begin(), static_cast<char>(value));
  out.push_back(static_cast<char>(digits.size()));
  out += digits;
}

// Signed: as many leading ones as there are bytes, then the big-endian value, all inverted below 0.
void put_ordered_signed(std::string& out, int64_t value) {
  uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  size_t length = 1;
  while (length < 10 && (magnitude >> std::min<size_t>(7 * length - 1, 63)) != 0) ++length;
  std::string bytes(10, value < 0 ? '\xff' : '\0');
  for (size_t i = 0; i < 8; ++i) bytes[9 - i] = static_cast<char>(value >> (8 * i));
  bytes = bytes.substr(10 - length);
  unsigned header = (0xffffu << (16 - length)) & 0xffffu;  // `length` ones
  bytes[0] = static_cast<char>(bytes[0] ^ static_cast<char>(header >> 8));
  if (length > 1) bytes[1] = static_cast<char>(bytes[1] ^ static_cast<char>(header & 0xff));
  out += bytes;
}

void put_ordered_string(std::string& out, std::string_view text) {
  for (char c : text) {
    out.push_back(c);
    if (c == '\0') out.push_back('\xff');
    if (c == '\xff') out.push_back('\0');
  }
  out.push_back('\0');
  out.push_back('\x01');
}

int64_t parse_number(std::string_view text, std::string_view all) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw invalid_argument(
        "'{}' is no slice: write it as \"10 4 0,5:-\", the full shape and then "
        "start,length or - for each dimension",
        all);
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

void parse_extent(std::string_view text, std::string_view all, SliceSpec& spec) {
  if (text == "-") {
    spec.starts.push_back(0);
    spec.lengths.push_back(-1);
    return;
  }
  size_t comma = std::min(text.find(','), text.size());
  spec.starts.push_back(parse_number(text.substr(0, comma), all));
  spec.lengths.push_back(parse_number(text.substr(std::min(comma + 1, text.size())), all));
}

}  // namespace

std::string Box::text() const {
  std::string out;
  for (int d = 0; d < rank(); ++d) {
    out += fmt::format("{}{},{}", d ? ":" : "", start[size_t(d)], length[d]);
  }
  return out;
}

Box whole_box(const Shape& shape) { return Box{{}, shape}; }

Box make_box(const Shape& full, std::span<const int64_t> starts, std::span<const int64_t> lengths) {
  if (starts.size() != size_t(full.rank()) || lengths.size() != size_t(full.rank())) {
    throw invalid_argument(
        "a slice of a tensor of shape {} needs {} starts and lengths, got {} and {}", full,
        full.rank(), starts.size(), lengths.size());
  }
  Box box = whole_box(full);
  for (int d = 0; d < full.rank(); ++d) {
    int64_t start = starts[size_t(d)];
    int64_t length = lengths[size_t(d)];
    if (length == -1 && start == 0) continue;
    if (start < 0 || length < 0 || start > full[d] || length > full[d] - start) {
      bad_box(full, d, start, length);
    }
    box.start[size_t(d)] = start;
    box.length[d] = length;
  }
  return box;
}

Box make_box(const Shape& full, const pb::TensorSliceProto& slice) {
  std::vector<int64_t> starts, lengths;
  for (const auto& extent : slice.extent()) {
    bool has_length = extent.has_length_case() == pb::TensorSliceProto::Extent::kLength;
    starts.push_back(extent.start());
    lengths.push_back(has_length ? extent.length() : -1);
  }
  return make_box(full, starts, lengths);
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box out = a;
  for (int d = 0; d < a.rank(); ++d) {
    size_t i = size_t(d);
    int64_t start = std::max(a.start[i], b.start[i]);
    int64_t end = std::min(a.start[i] + a.length[d], b.start[i] + b.length[d]);
    if (start >= end) return std::nullopt;
    out.start[i] = start;
    out.length[d] = end - start;
  }
  return out;
}

void copy_common(const Tensor& from, const Box& from_box, Tensor& to, const Box& to_box) {
  std::optional<Box> common = intersection(from_box, to_box);
  if (!common) return;
  Copier copier{from, from_box, to, to_box, *common};
  copier.find_run();
  copier.copy(0, 0, 0);
}

std::optional<SliceSpec> parse_slice_spec(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::vector<std::string_view> words = split(text, ' ');
  std::string_view extents = words.back();
  words.pop_back();
  SliceSpec spec;
  for (std::string_view word : words) spec.full.push_back(parse_number(word, text));
  if (!extents.empty()) {
    for (std::string_view extent : split(extents, ':')) parse_extent(extent, text, spec);
  }
  make_box(spec.full, spec.starts, spec.lengths);  // throws when they do not fit
  return spec;
}

std::string slice_key(std::string_view name, const pb::TensorSliceProto& slice) {
  std::string key;
  put_ordered(key, 0);
  put_ordered_string(key, name);
  put_ordered(key, static_cast<uint64_t>(slice.extent_size()));
  for (const auto& extent : slice.extent()) {
    bool has_length = extent.has_length_case() == pb::TensorSliceProto::Extent::kLength;
    put_ordered_signed(key, extent.start());
    put_ordered_signed(key, has_length ? extent.length() : -1);
  }
  return key;
}

}  // namespace capstan
