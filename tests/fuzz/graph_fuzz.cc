// Input: one byte that says how (0 a GraphDef to import, 1 a TensorProto, 2 a GraphDef to print),
// then the bytes.

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "graph/graph_def.h"
#include "graph/graph_text.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

void import(std::string_view bytes) {
  Graph graph(standard_catalog());
  try {
    from_graph_def(graph, bytes);
  } catch (const Error&) {
    if (graph.size() != 0) __builtin_trap();  // all or none
    return;
  }
  Graph again(standard_catalog());
  from_graph_def(again, to_graph_def(graph));
}

void run(std::string_view input) {
  std::string_view bytes = input.substr(1);
  if (input[0] == 0) return import(bytes);
  if (input[0] == 1) return void(to_tensor_proto(from_tensor_proto(bytes)));
  graph_text(bytes);
}

std::string graph_bytes() {
  Graph g(standard_catalog());
  auto scope = g.device("/job:ps/task:0");
  Output c = g.constant(Tensor::of<float>({2}, {1, 2}));
  Output v = g.add("VariableV2", {}, {{"shape", Shape{2}}, {"dtype", DType::kFloat}}, "v");
  g.add("Assign", {v, c});
  Output shape = g.constant(Tensor::of<int32_t>({2}, {2, 1}));
  Output wide = g.add("Reshape", {c, shape});
  Output times = g.constant(Tensor::of<int32_t>({2}, {1, 3}));
  g.add("MatMul", {g.add("Tile", {wide, times}), wide}, {{"transpose_a", true}});
  return to_graph_def(g);
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  std::string graph = graph_bytes();
  return {'\0' + graph, '\2' + graph,
          '\1' + to_tensor_proto(Tensor::of<float>({2, 2}, {1, 2, 3, 4})),
          '\1' + to_tensor_proto(Tensor::of<std::string>({2}, {"a", "bc"}))};
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    capstan::run({reinterpret_cast<const char*>(data), size});
  } catch (const capstan::Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
