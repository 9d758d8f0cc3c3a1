#include <algorithm>
#include <bit>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/unlocked_copy.h"
#include "io/bundle.h"
#include "io/bundle_files.h"
#include "io/string_block.h"

namespace capstan {
namespace {

constexpr size_t kChunk = 256 << 10;

static_assert(std::endian::native == std::endian::little, "bundles hold little-endian numbers");

void check_storable(std::string_view key, const Tensor& tensor) {
  if (key.empty()) throw invalid_argument("a tensor needs a name to be saved; this one has none");
  if (!tensor.valid() || dtype_size(tensor.dtype()) == 0) {
    throw invalid_argument("'{}' cannot be saved: its type is {}, which has no bytes to store", key,
                           dtype_name(tensor.dtype()));
  }
}

void set_shape(const Shape& shape, pb::TensorShapeProto& proto) {
  for (int64_t dim : shape.dims()) proto.add_dim()->set_size(dim);
}

pb::TensorSliceProto slice_proto(std::span<const int64_t> starts,
                                 std::span<const int64_t> lengths) {
  pb::TensorSliceProto slice;
  for (size_t d = 0; d < starts.size(); ++d) {
    auto* extent = slice.add_extent();
    if (lengths[d] == -1) continue;  // the whole dimension is an empty extent
    extent->set_start(starts[d]);
    extent->set_length(lengths[d]);
  }
  return slice;
}

}  // namespace

BundleWriter::BundleWriter(Files& files, std::string prefix)
    : files_(files), prefix_(std::move(prefix)) {
  files_.make_dirs(dir_of(prefix_));
  remove_bundle_leftovers(files_, dir_of(prefix_));
  data_.emplace(files_, prefix_ + ".data");
}

void BundleWriter::add(std::string_view key, const Tensor& tensor) {
  check_storable(key, tensor);
  if (entries_.find(key) != entries_.end()) {
    throw already_exists("'{}' is saved twice in {}; give one of the two another name", key,
                         prefix_);
  }
  store(std::string(key), tensor);
}

void BundleWriter::add_slice(std::string_view key, const Shape& full,
                             std::span<const int64_t> starts, std::span<const int64_t> lengths,
                             const Tensor& tensor) {
  check_storable(key, tensor);
  Box box = make_box(full, starts, lengths);
  if (!(box.length == tensor.shape())) {
    throw invalid_argument("the part {} of '{}' has shape {}, but the tensor given has {}",
                           box.text(), key, box.length, tensor.shape());
  }
  auto [it, fresh] = entries_.try_emplace(std::string(key));
  pb::BundleEntryProto& entry = it->second;
  if (fresh) {
    entry.set_dtype(static_cast<pb::DataType>(tensor.dtype()));
    set_shape(full, *entry.mutable_shape());
  } else if (entry.slices_size() == 0) {
    throw already_exists("'{}' is saved both whole and in parts in {}", key, prefix_);
  }
  pb::TensorSliceProto slice = slice_proto(starts, lengths);
  std::string part = slice_key(key, slice);
  if (entries_.contains(part)) {
    throw already_exists("the part {} of '{}' is saved twice in {}", box.text(), key, prefix_);
  }
  *entry.add_slices() = slice;
  store(part, tensor);
}

void BundleWriter::store(const std::string& key, const Tensor& tensor) {
  if (finished_)
    throw failed_precondition("the bundle {} is finished; '{}' comes too late", prefix_, key);
  pb::BundleEntryProto entry;
  entry.set_dtype(static_cast<pb::DataType>(tensor.dtype()));
  set_shape(tensor.shape(), *entry.mutable_shape());
  entry.set_offset(offset_);
  uint32_t crc = tensor.dtype() == DType::kString ? append_strings(tensor) : append_numbers(tensor);
  entry.set_size(offset_ - entry.offset());
  entry.set_crc32c(crc32c_mask(crc));
  entries_.insert_or_assign(key, std::move(entry));
}

// A variable may be trained meanwhile: each byte is taken once, and what is written is what the
// checksum is of. By chunks, for a copy of it all could be as large as the model.
uint32_t BundleWriter::append_numbers(const Tensor& tensor) {
  uint32_t crc = 0;
  for (size_t at = 0; at < tensor.bytes(); at += kChunk) {
    std::string_view chunk = copy_chunk(tensor, at);
    append(chunk);
    crc = crc32c_extend(crc, chunk);
  }
  return crc;
}

std::string_view BundleWriter::copy_chunk(const Tensor& tensor, size_t at) {
  if (!chunk_) chunk_ = std::make_unique_for_overwrite<char[]>(kChunk);
  size_t size = std::min(kChunk, tensor.bytes() - at);
  copy_unlocked(tensor.data<char>() + at, chunk_.get(), size);
  return {chunk_.get(), size};
}

// The strings of a variable are never changed in place: what is read twice here stays the same.
uint32_t BundleWriter::append_strings(const Tensor& tensor) {
  std::span<const std::string> strings(tensor.data<std::string>(), size_t(tensor.size()));
  StringHead head = encode_string_head(strings);
  append(head.bytes);
  uint32_t crc = head.crc;
  for (const std::string& s : strings) {
    append(s);
    crc = crc32c_extend(crc, s);
  }
  return crc;
}

void BundleWriter::append(std::string_view bytes) {
  data_->append(bytes);
  offset_ += static_cast<int64_t>(bytes.size());
}

void BundleWriter::finish() {
  if (finished_) throw failed_precondition("the bundle {} is already finished", prefix_);
  data_->sync();
  int num_shards = free_shard_count(files_, prefix_, 1);
  AtomicFile index = write_index(files_, prefix_, entries_, num_shards);
  data_->publish(bundle_data_path(prefix_, 0, num_shards));
  finished_ = true;
  publish_index(files_, prefix_, std::move(index), num_shards);
}

}  // namespace capstan
