#pragma once

// Tensor bundles: named tensors in files, the format of TensorFlow's checkpoints (V2). A bundle is
// <prefix>.index and <prefix>.data-NNNNN-of-NNNNN; docs/formats/bundle.md has the bytes.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "io/tensor_slice.h"
#include "proto/bundle.pb.h"
#include "tensor/tensor.h"

namespace capstan {

// Writes one bundle. It is whole or absent: all bytes go to temporary names, and the index, without
// which a bundle does not exist, is renamed last. Over an older bundle of the same prefix, that one
// stays readable until the new one is.
class BundleWriter {
 public:
  // Makes the folder if needed, and removes what writers who died have left there. Without finish()
  // nothing is left behind.
  BundleWriter(Files& files, std::string prefix);
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  // Throws AlreadyExists for a key that is there, InvalidArgument for an empty key or a dtype that
  // cannot be stored. Numbers may change meanwhile, in place: what is stored is whole, though of
  // several moments.
  void add(std::string_view key, const Tensor& tensor);
  // A part of a bigger tensor of shape `full`: the box that begins at `starts` and extends
  // `lengths`
  // (-1: the whole dimension). Parts of one tensor do not overlap.
  void add_slice(std::string_view key, const Shape& full, std::span<const int64_t> starts,
                 std::span<const int64_t> lengths, const Tensor& tensor);
  void finish();

 private:
  void store(const std::string& key, const Tensor& tensor);
  uint32_t append_numbers(const Tensor& tensor);
  std::string_view copy_chunk(const Tensor& tensor, size_t at);
  uint32_t append_strings(const Tensor& tensor);
  void append(std::string_view bytes);

  Files& files_;
  const std::string prefix_;
  std::optional<AtomicFile> data_;
  std::unique_ptr<char[]> chunk_;
  int64_t offset_ = 0;
  std::map<std::string, pb::BundleEntryProto, std::less<>> entries_;
  bool finished_ = false;
};

// Joins bundles that several tasks wrote into one, moving their data files. A key may stand in more
// than one of them only as parts of one tensor. The sources are gone afterwards.
void merge_bundles(Files& files, std::span<const std::string> prefixes, const std::string& out);

// Reads a bundle of any origin. No byte of it is trusted: sizes are checked before memory is taken,
// checksums before values are returned. Damage throws DataLoss with file, key and remedy.
// Thread-safe.
class BundleReader {
 public:
  // Throws NotFound when there is no such bundle.
  BundleReader(Files& files, std::string prefix);

  // In bytewise order.
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const;
  // Of the full tensor when it was saved in parts. NotFound names the nearest keys.
  std::pair<DType, Shape> describe(std::string_view key) const;
  Tensor read(std::string_view key) const;
  // A box of the tensor, as in BundleWriter::add_slice.
  Tensor read_slice(std::string_view key, std::span<const int64_t> starts,
                    std::span<const int64_t> lengths) const;
  // The whole tensor, or the part of it that a saver's text says (parse_slice_spec). Throws
  // InvalidArgument when the text is about a tensor of another shape.
  Tensor read_spec(std::string_view key, std::string_view slice) const;

  // Throws what reading would throw where a data file is missing or too short; the values are not
  // read.
  void check_whole() const;

  int num_shards() const { return num_shards_; }
  const std::string& prefix() const { return prefix_; }
  // Entries as they stand in the index, parts included.
  const std::map<std::string, std::string, std::less<>>& raw_entries() const { return entries_; }

 private:
  struct Entry {
    pb::BundleEntryProto proto;
    DType dtype;
    Shape shape;
  };
  struct Part {
    Box box;
    Entry entry;
  };
  Entry entry(std::string_view key) const;
  [[noreturn]] void missing(std::string_view key) const;
  Tensor load(std::string_view key, const Entry& entry) const;
  Tensor assemble(std::string_view key, const Entry& entry, const Box& wanted) const;
  std::vector<Part> parts_of(std::string_view key, const Entry& entry, const Box& wanted) const;
  void check_backed(std::string_view key, std::span<const Part> parts) const;
  void check_place(std::string_view key, const Entry& entry) const;
  void check_room(std::string_view key, const pb::BundleEntryProto& proto) const;
  std::shared_ptr<ReadableFile> shard(int id) const;
  std::string shard_path(int id) const;

  Files& files_;
  const std::string prefix_;
  int num_shards_ = 0;
  std::map<std::string, std::string, std::less<>> entries_;  // key to BundleEntryProto bytes
  mutable std::mutex mutex_;
  mutable std::map<int, std::shared_ptr<ReadableFile>> shards_;
};

// "<prefix>.index" and "<prefix>.data-00001-of-00003".
std::string bundle_index_path(const std::string& prefix);
std::string bundle_data_path(const std::string& prefix, int shard, int num_shards);
// Whether the index is there.
bool bundle_exists(Files& files, const std::string& prefix);
// Index, data files, and the graph saved beside them (.meta).
void remove_bundle(Files& files, const std::string& prefix);

}  // namespace capstan
