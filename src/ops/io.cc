// Checkpoints: reading and writing tensor bundles, and the names of their shards.

#include <array>
#include <string>
#include <vector>

#include "graph/shape_context.h"
#include "io/bundle.h"
#include "io/tensor_slice.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/resources.h"
#include "ops/types.h"

namespace capstan {
namespace {

// Names and slices of `count` tensors, from inputs 1 and 2.
struct Wanted {
  const std::string *names, *slices;
};

Wanted wanted(const KernelContext& c, int64_t count) {
  if (c.in(1).size() != count || c.in(2).size() != count) {
    throw invalid_argument("{} handles {} tensors but was given {} names and {} slices",
                           c.node().name(), count, c.in(1).size(), c.in(2).size());
  }
  return {c.in(1).data<std::string>(), c.in(2).data<std::string>()};
}

// --- Save and restore ----------------------------------------------------------------------------

void save(KernelContext& c) {
  const int count = c.inputs() - 3;
  const Wanted list = wanted(c, count);
  BundleWriter writer(c.task().files, c.scalar<std::string>(0));
  for (int i = 0; i < count; ++i) {
    const Tensor& value = c.in(3 + i);
    if (auto slice = parse_slice_spec(list.slices[i])) {
      writer.add_slice(list.names[i], slice->full, slice->starts, slice->lengths, value);
    } else {
      writer.add(list.names[i], value);
    }
  }
  writer.finish();
}

constexpr OpDef kSaveV2 = {
    .name = "SaveV2",
    .doc = "Writes the tensors into a bundle with this prefix; it is whole or absent.",
    .inputs = {{"prefix", "string", 0},
               {"tensor_names", "string", 1},
               {"shape_and_slices", "string", 1},
               {"tensors", "dtypes"}},
    .attrs = {{"dtypes", "list(type)>=1"}},
    .shape = no_outputs,
    .kernel = save,
    .no_gradient = true,
    .stateful = true,
};

void restore(KernelContext& c) {
  const auto& types = c.node().attrs().get<std::vector<DType>>("dtypes");
  const Wanted list = wanted(c, int64_t(types.size()));
  const BundleReader reader(c.task().files, c.scalar<std::string>(0));
  for (size_t i = 0; i < types.size(); ++i) {
    Tensor value = reader.read_spec(list.names[i], list.slices[i]);
    if (value.dtype() != types[i]) {
      throw invalid_argument("tensor {} in checkpoint {} is {}, but {} is to be restored",
                             list.names[i], reader.prefix(), dtype_name(value.dtype()),
                             dtype_name(types[i]));
    }
    c.set_out(int(i), std::move(value));
  }
}

constexpr OpDef kRestoreV2 = {
    .name = "RestoreV2",
    .doc = "Reads tensors out of a bundle.",
    .inputs = {{"prefix", "string", 0},
               {"tensor_names", "string", 1},
               {"shape_and_slices", "string", 1}},
    .outputs = {{"tensors", "dtypes"}},
    .attrs = {{"dtypes", "list(type)>=1"}},
    .shape = unknown_shape,
    .kernel = restore,
    .no_gradient = true,
    .stateful = true,
};

// --- Shards --------------------------------------------------------------------------------------

// Folders that held only the shards; others are left alone.
void remove_emptied(Files& files, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    const std::string dir = dir_of(prefix);
    if (files.exists(dir) && files.list(dir).empty()) files.remove_all(dir);
  }
}

void merge_checkpoints(KernelContext& c) {
  const Tensor& list = c.in(0);
  std::vector<std::string> prefixes(list.data<std::string>(),
                                    list.data<std::string>() + list.size());
  Files& files = c.task().files;
  if (c.node().attrs().get<bool>("allow_missing_files")) {
    std::erase_if(prefixes,
                  [&](const std::string& prefix) { return !bundle_exists(files, prefix); });
  }
  merge_bundles(files, prefixes, c.scalar<std::string>(1));
  if (c.node().attrs().get<bool>("delete_old_dirs")) remove_emptied(files, prefixes);
}

constexpr OpDef kMergeV2Checkpoints = {
    .name = "MergeV2Checkpoints",
    .doc = "Joins the bundles that several tasks wrote into one.",
    .inputs = {{"checkpoint_prefixes", "string", 1}, {"destination_prefix", "string", 0}},
    .attrs = {{"delete_old_dirs", "bool", "true"}, {"allow_missing_files", "bool", "false"}},
    .shape = no_outputs,
    .kernel = merge_checkpoints,
    .no_gradient = true,
    .stateful = true,
};

void sharded_filename(KernelContext& c) {
  *c.out(0, Shape{}).data<std::string>() = fmt::format(
      "{}-{:05d}-of-{:05d}", c.scalar<std::string>(0), c.scalar<int32_t>(1), c.scalar<int32_t>(2));
}

constexpr OpDef kShardedFilename = {
    .name = "ShardedFilename",
    .doc = "\"<basename>-00001-of-00003\".",
    .inputs = {{"basename", "string", 0}, {"shard", "int32", 0}, {"num_shards", "int32", 0}},
    .outputs = {{"filename", "string"}},
    .shape = scalar_shape,
    .kernel = sharded_filename,
    .no_gradient = true,
};

void sharded_filespec(KernelContext& c) {
  *c.out(0, Shape{}).data<std::string>() =
      fmt::format("{}-????\?-of-{:05d}", c.scalar<std::string>(0), c.scalar<int32_t>(1));
}

constexpr OpDef kShardedFilespec = {
    .name = "ShardedFilespec",
    .doc = "The pattern of all shards: \"<basename>-????\?-of-00003\".",
    .inputs = {{"basename", "string", 0}, {"num_shards", "int32", 0}},
    .outputs = {{"filename", "string"}},
    .shape = scalar_shape,
    .kernel = sharded_filespec,
    .no_gradient = true,
};

constexpr std::array<const OpDef*, 5> kRows = {
    &kSaveV2, &kRestoreV2, &kMergeV2Checkpoints, &kShardedFilename, &kShardedFilespec,
};

}  // namespace

OpFamily io_ops() { return kRows; }

}  // namespace capstan
