// What a run costs besides its arithmetic: a graph of three nodes, x + 1, beside the same sum made
// by hand into a value of its own.
//
//   session_bench [--json] [--seconds 1]

#include <array>
#include <vector>

#include "compare.h"
#include "ops/catalog.h"
#include "session/session.h"

namespace capstan {
namespace {

constexpr double kRunsPerSecond = 500'000;

// Keeps the compiler from seeing that nobody looks at a result.
void use(const std::vector<Tensor>& values) { asm volatile("" : : "r"(values.data()) : "memory"); }

std::vector<Tensor> sum_by_hand(const Tensor& x) {
  std::vector<Tensor> out;
  out.push_back(Tensor::scalar(*x.data<float>() + 1));
  return out;
}

void bench(const Report& report) {
  Graph graph(standard_catalog());
  Output x = graph.add("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
  Output sum = graph.add("AddV2", {x, graph.constant(Tensor::scalar(1.0f))});
  Session session(graph);
  Tensor two = Tensor::scalar(2.0f);
  auto by_hand = [&] { use(sum_by_hand(two)); };

  report.run({"C++ session.run, three nodes",
              [&] {
                use(session.run({{x, two}}, {sum}));
              },
              by_hand, "by hand", kRunsPerSecond, "at_least"});

  const std::array feeds = {x}, fetches = {sum};
  const std::array values = {two};
  auto prepared = session.prepare(feeds, fetches, {});
  report.run({"C++ session.run, prepared", [&] { use(session.run(*prepared, values).values); },
              by_hand, "by hand", kRunsPerSecond, "at_least"});
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { capstan::bench(capstan::Report(argc, argv)); }
