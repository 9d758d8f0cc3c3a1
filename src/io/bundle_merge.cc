#include <set>

#include "base/error.h"
#include "io/bundle.h"
#include "io/bundle_files.h"

namespace capstan {
namespace {

struct Move {
  std::string from;
  int shard = 0;
};

class Merger {
 public:
  Merger(Files& files, const std::string& out) : files_(files), out_(out) {}

  void add(const std::string& prefix) {
    if (prefix == out_) throw invalid_argument("the bundle {} cannot be merged into itself", out_);
    if (!sources_.insert(prefix).second) return;
    BundleReader reader(files_, prefix);
    std::map<int, int> renumbered;
    for (const auto& [key, bytes] : reader.raw_entries()) {
      pb::BundleEntryProto entry;
      if (!entry.ParseFromString(bytes) || entry.shard_id() < 0 ||
          entry.shard_id() >= reader.num_shards()) {
        throw data_loss("{}: '{}' has a malformed entry; save it anew", bundle_index_path(prefix),
                        key);
      }
      if (entry.slices_size() == 0) place(reader, entry, renumbered);
      join(key, std::move(entry), prefix);
    }
  }

  void finish() {
    int num_shards =
        free_shard_count(files_, out_, std::max<int>(1, static_cast<int>(moves_.size())));
    files_.make_dirs(dir_of(out_));
    remove_bundle_leftovers(files_, dir_of(out_));
    AtomicFile index = write_index(files_, out_, entries_, num_shards);
    for (const Move& move : moves_)
      files_.rename(move.from, bundle_data_path(out_, move.shard, num_shards));
    publish_index(files_, out_, std::move(index), num_shards);
    for (const std::string& source : sources_) remove_bundle(files_, source);
  }

 private:
  // Only shards that hold something are taken along.
  void place(const BundleReader& reader, pb::BundleEntryProto& entry,
             std::map<int, int>& renumbered) {
    auto next = static_cast<int>(moves_.size());
    auto [it, fresh] = renumbered.try_emplace(entry.shard_id(), next);
    if (fresh) {
      moves_.push_back(
          {bundle_data_path(reader.prefix(), entry.shard_id(), reader.num_shards()), next});
    }
    entry.set_shard_id(it->second);
  }

  void join(const std::string& key, pb::BundleEntryProto entry, const std::string& prefix) {
    auto [it, fresh] = entries_.try_emplace(key, entry);
    if (fresh) return;
    pb::BundleEntryProto& old = it->second;
    bool parts = old.slices_size() > 0 && entry.slices_size() > 0;
    bool same = old.dtype() == entry.dtype() &&
                old.shape().SerializeAsString() == entry.shape().SerializeAsString();
    if (!parts || !same) {
      throw already_exists("'{}' stands in {} and in another bundle that is merged with it", key,
                           prefix);
    }
    old.mutable_slices()->MergeFrom(entry.slices());
  }

  Files& files_;
  const std::string& out_;
  std::set<std::string> sources_;
  std::vector<Move> moves_;
  BundleEntries entries_;
};

}  // namespace

void merge_bundles(Files& files, std::span<const std::string> prefixes, const std::string& out) {
  Merger merger(files, out);
  for (const std::string& prefix : prefixes) merger.add(prefix);
  merger.finish();
}

}  // namespace capstan
