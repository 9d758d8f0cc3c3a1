// Values of random graphs that are needed at the same time lie apart. Threads that meet in memory
// seldom show it in an answer; the layout shows it always.

#include <gtest/gtest.h>

#include "answers/random_graph.h"
#include "base/isa.h"
#include "base/memory_files.h"
#include "exec/layout.h"

namespace capstan {
namespace {

size_t end_of(const Value& v) {
  return v.offset + size_t(v.shape.elements()) * dtype_size(v.dtype);
}

// Whether `result` is made where `operand` was, element by element.
bool in_place(const Layout& layout, const Value& operand, const Value& result) {
  return operand.last == result.first && operand.first < result.first &&
         layout.actions[size_t(result.first)].kind == Action::Kind::kChain &&
         operand.offset == result.offset && operand.shape == result.shape &&
         operand.dtype == result.dtype;
}

bool lie_apart(const Layout& layout, const Value& a, const Value& b) {
  const bool meet = a.first <= b.last && b.first <= a.last;
  const bool overlap = a.offset < end_of(b) && b.offset < end_of(a);
  return !meet || !overlap || in_place(layout, a, b) || in_place(layout, b, a);
}

void check(const Layout& layout) {
  std::vector<const Value*> placed;
  for (const Value& v : layout.values) {
    if (v.storage == Storage::kArena) placed.push_back(&v);
  }
  for (size_t i = 0; i < placed.size(); ++i) {
    EXPECT_LE(end_of(*placed[i]), layout.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      EXPECT_TRUE(lie_apart(layout, *placed[i], *placed[j]))
          << placed[i]->offset << " " << placed[i]->shape.text() << " and " << placed[j]->offset
          << " " << placed[j]->shape.text();
    }
  }
}

class Layouts : public testing::Test {
 protected:
  std::unique_ptr<Layout> layout_of(const Question& question, const ProgramOptions& options) {
    PlanRequest request{{}, question.fetches, {}};
    for (const auto& [output, value] : question.feeds) request.feeds.push_back(output);
    Plan plan = make_plan(question.graph, request, {});
    Segment& segment = plan.segments.at(0);
    std::vector<Shape> shapes;
    for (const Source& s : segment.inputs)
      shapes.push_back(question.feeds[size_t(s.index)].second.shape());
    RunContext run{&task_, &session_, &cancellation_};
    return make_layout(segment.piece, std::move(shapes), run, options);
  }

 private:
  MemoryFiles files_;
  TaskState task_{"/job:localhost/task:0", 1, files_, best_isa()};
  SessionState session_;
  Cancellation cancellation_;
};

TEST_F(Layouts, KeepApartWhatIsNeededAtTheSameTime) {
  for (uint64_t seed = 1; seed <= 600 && !HasFailure(); ++seed) {
    auto question = random_graph(seed, {.nodes = 20, .largest = 2000, .source = 200});
    for (bool fuse : {false, true}) {
      SCOPED_TRACE(fmt::format("seed {}, {}", seed, fuse ? "fused" : "not fused"));
      auto layout = layout_of(*question, {.fuse = fuse, .fold = false});
      check(*layout);
    }
  }
}

}  // namespace
}  // namespace capstan
