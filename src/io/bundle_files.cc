#include "io/bundle_files.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "io/bundle.h"
#include "io/table.h"

namespace capstan {
namespace {

constexpr int kFormatVersion = 1;

struct DataFile {
  std::string path;
  int num_shards = 0;
};

// "NNNNN-of-NNNNN" -> the second number.
std::optional<int> shard_count_of(std::string_view tail) {
  size_t of = tail.find("-of-");
  if (of == std::string_view::npos) return std::nullopt;
  std::string_view digits = tail.substr(of + 4);
  int count = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return count;
}

std::vector<DataFile> data_files(Files& files, const std::string& prefix) {
  std::string dir = dir_of(prefix);
  std::string start = name_of(prefix) + ".data-";
  std::vector<DataFile> found;
  for (const std::string& name : files.list(dir)) {
    if (!name.starts_with(start)) continue;
    std::optional<int> count = shard_count_of(std::string_view(name).substr(start.size()));
    if (count) found.push_back({join_path(dir, name), *count});
  }
  return found;
}

pb::BundleHeaderProto header_of(int num_shards) {
  pb::BundleHeaderProto header;
  header.set_num_shards(num_shards);
  header.mutable_version()->set_producer(kFormatVersion);
  return header;
}

}  // namespace

std::string bundle_index_path(const std::string& prefix) { return prefix + ".index"; }

std::string bundle_data_path(const std::string& prefix, int shard, int num_shards) {
  return fmt::format("{}.data-{:05d}-of-{:05d}", prefix, shard, num_shards);
}

bool bundle_exists(Files& files, const std::string& prefix) {
  return files.exists(bundle_index_path(prefix));
}

void remove_bundle(Files& files, const std::string& prefix) {
  if (!files.exists(dir_of(prefix))) return;
  files.remove_all(bundle_index_path(prefix));
  for (const DataFile& file : data_files(files, prefix)) files.remove_all(file.path);
  files.remove_all(prefix + ".meta");
}

int free_shard_count(Files& files, const std::string& prefix, int wanted) {
  if (!bundle_exists(files, prefix)) return wanted;
  std::vector<DataFile> old = data_files(files, prefix);
  auto taken = [&](int count) {
    return std::any_of(old.begin(), old.end(),
                       [&](const DataFile& f) { return f.num_shards == count; });
  };
  while (taken(wanted)) ++wanted;
  return wanted;
}

AtomicFile write_index(Files& files, const std::string& prefix, const BundleEntries& entries,
                       int num_shards) {
  TableEntries table;
  table.emplace("", header_of(num_shards).SerializeAsString());
  for (const auto& [key, entry] : entries)
    table.emplace_hint(table.end(), key, entry.SerializeAsString());
  AtomicFile index(files, bundle_index_path(prefix));
  index.append(build_table(table));
  index.sync();
  return index;
}

void publish_index(Files& files, const std::string& prefix, AtomicFile index, int num_shards) {
  files.sync_dir(dir_of(prefix));  // data files before the index that names them
  index.publish(bundle_index_path(prefix));
  files.sync_dir(dir_of(prefix));
  for (const DataFile& file : data_files(files, prefix)) {
    if (file.num_shards != num_shards) files.remove_all(file.path);
  }
}

void remove_bundle_leftovers(Files& files, const std::string& dir) {
  remove_leftovers(files, dir, [](std::string_view name) {
    return name.ends_with(".data") || name.ends_with(".index") || name.ends_with(".meta");
  });
}

}  // namespace capstan
