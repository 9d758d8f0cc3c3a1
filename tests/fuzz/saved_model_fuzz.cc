// The file saved_model.pb: found, parsed and made ready to run, with and without its variables.

#include "base/error.h"
#include "base/memory_files.h"
#include "fuzz/fuzz.h"
#include "graph/graph_def.h"
#include "io/bundle.h"
#include "ops/catalog.h"
#include "train/loaded_model.h"

namespace capstan {
namespace {

void put_variables(Files& files) {
  BundleWriter writer(files, "/m/variables/variables");
  writer.add("w", Tensor::of<float>({2, 1}, {1, 2}));
  writer.finish();
}

pb::GraphDef small_graph() {
  Graph g(standard_catalog());
  const AttrMap floats = {{"dtype", DType::kFloat}, {"shape", Shape{2, 1}}};
  Output w = g.add("VariableV2", {}, floats, "w");
  Output read = g.add("Identity", {w}, {}, "w/read");
  Output x = g.add("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape{-1, 2}}}, "x");
  g.add("MatMul", {x, read}, {}, "y");
  pb::GraphDef def;
  def.ParseFromString(to_graph_def(g));
  return def;
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  pb::SavedModel model;
  pb::MetaGraphDef& meta = *model.add_meta_graphs();
  *meta.mutable_graph_def() = small_graph();
  meta.mutable_meta_info_def()->add_tags("serve");
  pb::SignatureDef& signature = (*meta.mutable_signature_def())["serving_default"];
  (*signature.mutable_inputs())["x"].set_name("x:0");
  (*signature.mutable_outputs())["y"].set_name("y:0");
  return {model.SerializeAsString()};
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace capstan;
  MemoryFiles files;
  put_variables(files);
  files.put("/m/saved_model.pb", std::string(reinterpret_cast<const char*>(data), size));
  try {
    LoadOptions options;
    options.threads = 1;
    LoadedModel::open(files, "/m", options);
  } catch (const Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
