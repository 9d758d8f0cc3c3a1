// The meta bytes of the messages between tasks. Input: one byte that says which message, then they.

#include "base/error.h"
#include "cluster/protocol.h"
#include "fuzz/fuzz.h"
#include "graph/graph_def.h"
#include "ops/catalog.h"

namespace capstan {
namespace {

void run(std::string_view input) {
  std::string_view meta = input.substr(1);
  switch (input[0]) {
    case 0: decode_hello(meta); return;
    case 1: decode_piece(meta, standard_catalog()); return;
    case 2: decode_call(meta); return;
    case 3: decode_names(meta); return;
    case 5: decode_extension(meta); return;
    case 6: decode_news(meta); return;
    default: decode_run_request(meta); return;
  }
}

Piece sample_piece() {
  Piece piece;
  piece.graph = std::make_unique<Graph>(standard_catalog());
  Graph& g = *piece.graph;
  for (int64_t i = 0; i < 2; ++i) {
    Output arg = g.add("_Arg", {}, {{"T", DType::kFloat}, {"index", i}}, "arg");
    piece.args.push_back(arg.node);
  }
  piece.outputs = {g.add("AddV2", {{piece.args[0], 0}, {piece.args[1], 0}})};
  return piece;
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {'\0' + encode(Hello{"/job:worker/task:0"}),
          '\1' + encode_piece(sample_piece()),
          '\2' + encode(Call{300}),
          '\3' + encode_names({"a", "", "bc"}),
          '\4' + encode(RunRequest{{"x:0"}, {"y:0", "z:1"}, {"train"}}),
          '\6' + encode({News{"/job:worker/task:0", 7, {.left = true, .serves = true}}}),
          '\5' + encode(Extension{7, to_graph_def(*sample_piece().graph)})};
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
