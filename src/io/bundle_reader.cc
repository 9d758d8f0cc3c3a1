#include <algorithm>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/nearest.h"
#include "io/bundle.h"
#include "io/string_block.h"
#include "io/table.h"

namespace capstan {
namespace {

constexpr int kFormatVersion = 1;
constexpr size_t kMaxKeyInMessage = 256;
constexpr const char* kRemedy =
    "the checkpoint is damaged or was not copied whole; use another one";

[[noreturn]] void damaged(const std::string& file, std::string_view key, const std::string& what) {
  throw data_loss("{}: '{}' {}; {}", file, key, what, kRemedy);
}

bool is_slice_key(std::string_view key) { return key.starts_with('\0'); }

pb::BundleHeaderProto parse_header(const TableEntries& entries, const std::string& file) {
  auto it = entries.find("");
  pb::BundleHeaderProto header;
  if (it == entries.end() || !header.ParseFromString(it->second) || header.num_shards() < 1) {
    throw data_loss("{} has no header of a tensor bundle; {}", file, kRemedy);
  }
  if (header.endianness() != pb::BundleHeaderProto::LITTLE) {
    throw unimplemented("{} holds big-endian numbers; save it anew on a little-endian machine",
                        file);
  }
  if (header.version().min_consumer() > kFormatVersion) {
    throw unimplemented("{} asks for readers of version {}, this one has {}; use a newer release",
                        file, header.version().min_consumer(), kFormatVersion);
  }
  return header;
}

std::vector<int64_t> dims_of(const pb::TensorShapeProto& proto) {
  std::vector<int64_t> dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  return dims;
}

// The product of the dimensions and the element size, or an error when no memory could hold it.
Shape checked_shape(const std::string& file, std::string_view key,
                    const pb::TensorShapeProto& proto) {
  std::vector<int64_t> dims = dims_of(proto);
  bool negative = std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; });
  if (proto.unknown_rank() || negative) damaged(file, key, "has no definite shape");
  if (dims.size() > size_t(Shape::kMaxRank)) {
    throw unimplemented("{}: '{}' has {} dimensions, at most {} are supported", file, key,
                        dims.size(), Shape::kMaxRank);
  }
  try {
    Shape shape(dims);
    int64_t bytes;
    if (!__builtin_mul_overflow(shape.elements(), 64, &bytes)) return shape;
  } catch (const Error&) {  // said below, with the file and the key
  }
  damaged(file, key, "has an impossible shape");
}

Box checked_box(const std::string& file, std::string_view key, const Shape& full,
                const pb::TensorSliceProto& slice) {
  try {
    return make_box(full, slice);
  } catch (const Error& e) {
    damaged(file, key, "lists a part that does not fit: " + e.message());
  }
}

// Both return what is wrong, or nothing.
std::string_view fill_numbers(const ReadableFile& file, const pb::BundleEntryProto& entry,
                              Tensor& out) {
  size_t got = file.read_at(uint64_t(entry.offset()), out.data<char>(), out.bytes());
  if (got != out.bytes()) return "is cut short";
  bool good = masked_crc32c({out.data<char>(), out.bytes()}) == entry.crc32c();
  return good ? "" : "does not match its checksum";
}

std::string_view fill_strings(const ReadableFile& file, const pb::BundleEntryProto& entry,
                              Tensor& out) {
  std::string bytes(size_t(entry.size()), '\0');
  if (file.read_at(uint64_t(entry.offset()), bytes.data(), bytes.size()) != bytes.size()) {
    return "is cut short";
  }
  return decode_strings(bytes, entry.crc32c(), {out.data<std::string>(), size_t(out.size())});
}

// Parts that overlap, or leave a hole in what is wanted, would give values that nobody saved. Each
// part touches what is wanted.
bool cover(std::vector<Box> parts, const Box& wanted) {
  std::sort(parts.begin(), parts.end(),
            [](const Box& a, const Box& b) { return a.start[0] < b.start[0]; });
  int64_t covered = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t end = parts[i].rank() > 0 ? parts[i].start[0] + parts[i].length[0] : 1;
    for (size_t j = i + 1; j < parts.size() && parts[j].start[0] < end; ++j) {
      if (intersection(parts[i], parts[j])) return false;
    }
    covered += intersection(parts[i], wanted)->length.elements();
  }
  return covered == wanted.length.elements();
}

}  // namespace

BundleReader::BundleReader(Files& files, std::string prefix)
    : files_(files), prefix_(std::move(prefix)) {
  std::string path = bundle_index_path(prefix_);
  if (!files_.exists(path)) {
    throw not_found(
        "there is no checkpoint {}: {} does not exist; check the path, without its "
        "ending .index or .data",
        prefix_, path);
  }
  entries_ = read_table(files_.read(path), path);
  num_shards_ = parse_header(entries_, path).num_shards();
  entries_.erase("");
}

std::vector<std::string> BundleReader::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : entries_) {
    if (!is_slice_key(key)) out.push_back(key);
  }
  return out;
}

bool BundleReader::has(std::string_view key) const {
  return !is_slice_key(key) && entries_.find(key) != entries_.end();
}

void BundleReader::missing(std::string_view key) const {
  std::vector<std::string> names = keys();
  std::erase_if(names, [](const std::string& name) { return name.size() > kMaxKeyInMessage; });
  throw not_found("there is no '{}' among the {} tensors of the checkpoint {}{}", key,
                  keys().size(), prefix_,
                  key.size() > kMaxKeyInMessage ? "" : did_you_mean(key, names));
}

BundleReader::Entry BundleReader::entry(std::string_view key) const {
  auto it = entries_.find(key);
  if (it == entries_.end()) missing(key);
  std::string file = bundle_index_path(prefix_);
  Entry entry;
  if (!entry.proto.ParseFromString(it->second)) damaged(file, key, "has a malformed entry");
  int number = entry.proto.dtype();
  if (!dtype_known(number) || dtype_size(static_cast<DType>(number)) == 0) {
    throw unimplemented("{}: '{}' has type number {}, which is not supported", file, key, number);
  }
  entry.dtype = static_cast<DType>(number);
  entry.shape = checked_shape(file, key, entry.proto.shape());
  return entry;
}

std::pair<DType, Shape> BundleReader::describe(std::string_view key) const {
  Entry found = entry(key);
  return {found.dtype, found.shape};
}

Tensor BundleReader::read(std::string_view key) const {
  Entry found = entry(key);
  if (found.proto.slices_size() == 0) return load(key, found);
  return assemble(key, found, whole_box(found.shape));
}

Tensor BundleReader::read_slice(std::string_view key, std::span<const int64_t> starts,
                                std::span<const int64_t> lengths) const {
  Entry found = entry(key);
  Box wanted = make_box(found.shape, starts, lengths);
  if (found.proto.slices_size() > 0) return assemble(key, found, wanted);
  Tensor out(found.dtype, wanted.length);
  copy_common(load(key, found), whole_box(found.shape), out, wanted);
  return out;
}

std::vector<BundleReader::Part> BundleReader::parts_of(std::string_view key, const Entry& entry,
                                                       const Box& wanted) const {
  std::string file = bundle_index_path(prefix_);
  std::vector<Part> parts;
  for (const pb::TensorSliceProto& slice : entry.proto.slices()) {
    Box box = checked_box(file, key, entry.shape, slice);
    if (!intersection(box, wanted)) continue;
    std::string part_key = slice_key(key, slice);
    if (!entries_.contains(part_key)) damaged(file, key, "lacks its part " + box.text());
    Entry part = this->entry(part_key);
    if (part.dtype != entry.dtype || !(part.shape == box.length)) {
      damaged(file, key, "has a part of another type or shape at " + box.text());
    }
    parts.push_back({box, std::move(part)});
  }
  return parts;
}

Tensor BundleReader::assemble(std::string_view key, const Entry& entry, const Box& wanted) const {
  std::vector<Part> parts = parts_of(key, entry, wanted);
  std::vector<Box> boxes;
  for (const Part& part : parts) boxes.push_back(part.box);
  if (!cover(boxes, wanted)) {
    damaged(bundle_index_path(prefix_), key, "was saved in parts that overlap or leave holes");
  }
  check_backed(key, parts);
  Tensor out(entry.dtype, wanted.length);
  for (const Part& part : parts) copy_common(load(key, part.entry), part.box, out, wanted);
  return out;
}

// Parts that all claim the same bytes could make a small file fill the memory.
void BundleReader::check_backed(std::string_view key, std::span<const Part> parts) const {
  std::map<int, uint64_t> left;
  for (const Part& part : parts) {
    int id = part.entry.proto.shard_id();
    check_place(key, part.entry);
    uint64_t& room = left.try_emplace(id, shard(id)->size()).first->second;
    uint64_t size = uint64_t(part.entry.proto.size());
    if (size > room) damaged(shard_path(id), key, "was saved in parts that claim the same bytes");
    room -= size;
  }
}

std::string BundleReader::shard_path(int id) const {
  return bundle_data_path(prefix_, id, num_shards_);
}

std::shared_ptr<ReadableFile> BundleReader::shard(int id) const {
  std::lock_guard lock(mutex_);
  std::shared_ptr<ReadableFile>& file = shards_[id];
  if (file) return file;
  if (!files_.exists(shard_path(id))) {
    throw data_loss("{} is missing, but {} refers to it; {}", shard_path(id),
                    bundle_index_path(prefix_), kRemedy);
  }
  file = files_.open(shard_path(id));
  return file;
}

void BundleReader::check_room(std::string_view key, const pb::BundleEntryProto& proto) const {
  if (proto.shard_id() < 0 || proto.shard_id() >= num_shards_ || proto.offset() < 0 ||
      proto.size() < 0) {
    damaged(bundle_index_path(prefix_), key, "has an impossible place");
  }
  auto offset = uint64_t(proto.offset()), size = uint64_t(proto.size());
  uint64_t available = shard(proto.shard_id())->size();
  if (offset > available || size > available - offset) {
    damaged(shard_path(proto.shard_id()), key,
            fmt::format("should be at bytes {} to {}, but the file has {}", offset, offset + size,
                        available));
  }
}

void BundleReader::check_place(std::string_view key, const Entry& entry) const {
  const pb::BundleEntryProto& proto = entry.proto;
  check_room(key, proto);
  auto size = uint64_t(proto.size());
  // A string takes at least one byte, that of its length.
  auto elements = uint64_t(entry.shape.elements());
  bool fits =
      entry.dtype == DType::kString ? elements <= size : elements * dtype_size(entry.dtype) == size;
  if (!fits) {
    damaged(shard_path(proto.shard_id()), key,
            fmt::format("has {} bytes, which are not a {} of shape {}", size,
                        dtype_name(entry.dtype), entry.shape));
  }
}

Tensor BundleReader::read_spec(std::string_view key, std::string_view slice) const {
  auto spec = parse_slice_spec(slice);
  if (!spec) return read(key);
  const Shape stored = describe(key).second;
  if (!(stored == spec->full)) {
    throw invalid_argument(
        "tensor {} in checkpoint {} has shape {}, but a part of one of shape {} is "
        "to be restored",
        key, prefix_, stored, spec->full);
  }
  return read_slice(key, spec->starts, spec->lengths);
}

void BundleReader::check_whole() const {
  for (const auto& [key, bytes] : entries_) {
    pb::BundleEntryProto proto;
    if (!proto.ParseFromString(bytes))
      damaged(bundle_index_path(prefix_), key, "has a malformed entry");
    if (proto.slices_size() == 0) check_room(key, proto);
  }
}

Tensor BundleReader::load(std::string_view key, const Entry& entry) const {
  check_place(key, entry);
  std::shared_ptr<ReadableFile> file = shard(entry.proto.shard_id());
  Tensor out(entry.dtype, entry.shape);
  std::string_view problem = entry.dtype == DType::kString ? fill_strings(*file, entry.proto, out)
                                                           : fill_numbers(*file, entry.proto, out);
  if (!problem.empty()) damaged(shard_path(entry.proto.shard_id()), key, std::string(problem));
  return out;
}

}  // namespace capstan
