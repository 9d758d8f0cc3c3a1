#pragma once

// How the files of a bundle are put in place, for its writer and for merging.

#include <map>
#include <string>

#include "base/atomic_file.h"
#include "proto/bundle.pb.h"

namespace capstan {

using BundleEntries = std::map<std::string, pb::BundleEntryProto, std::less<>>;

// A shard count not below `wanted` whose data files are not those of a bundle that stands under
// this prefix now: the old bundle stays whole until the index of the new one replaces the old
// index.
int free_shard_count(Files& files, const std::string& prefix, int wanted);

// The index, safe on the disk but not yet in place: what can fail for want of space has not failed
// when data files are moved.
AtomicFile write_index(Files& files, const std::string& prefix, const BundleEntries& entries,
                       int num_shards);

// Puts the index in place, which brings the bundle into being, then removes the data files of other
// shard counts. The data files are in place.
void publish_index(Files& files, const std::string& prefix, AtomicFile index, int num_shards);

// Removes what writers of checkpoints who died have left in the folder.
void remove_bundle_leftovers(Files& files, const std::string& dir);

}  // namespace capstan
