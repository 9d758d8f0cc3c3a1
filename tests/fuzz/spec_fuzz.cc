// Cluster specs. Input: one byte (odd: the rest is a ClusterDef, else JSON), then that.

#include "base/error.h"
#include "cluster/cluster_spec.h"
#include "fuzz/fuzz.h"

namespace capstan {
namespace {

void run(std::string_view input) {
  std::string_view rest = input.substr(1);
  ClusterSpec spec =
      input[0] & 1 ? ClusterSpec::from_cluster_def(rest) : ClusterSpec::from_json(rest);
  spec.canonical();
  if (ClusterSpec::from_cluster_def(spec.to_cluster_def()) != spec) __builtin_trap();
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  std::string json =
      R"({"ps": ["127.0.0.1:2222", "[::1]:2223"], "worker": {"1": "h:1"}, "chief": "c:1"})";
  return {'\0' + json, '\1' + ClusterSpec::from_json(json).to_cluster_def()};
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
