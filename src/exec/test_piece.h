#pragma once

// What the tests of this room run: a piece of a graph on a task of its own.

#include <memory>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/isa.h"
#include "exec/layout.h"
#include "ops/catalog.h"

namespace capstan {

struct TestPiece {
  using Feeds = std::vector<std::pair<Output, Tensor>>;

  TestPiece(Graph& graph, const Feeds& feeds, std::vector<Output> fetches, int threads = 1)
      : task(std::make_shared<TaskState>("/job:localhost/task:0", threads, posix_files(),
                                         best_isa())) {
    PlanRequest request{{}, std::move(fetches), {}};
    for (const auto& [output, value] : feeds) {
      request.feeds.push_back(output);
      shapes.push_back(value.shape());
      inputs.push_back(value);
    }
    Plan plan = make_plan(graph, request, {});
    piece = std::move(plan.segments.at(0).piece);
  }

  std::unique_ptr<Layout> layout(const ProgramOptions& options = {}) {
    Cancellation none;
    RunContext run{task.get(), session.get(), &none};
    return make_layout(piece, shapes, run, options);
  }
  // Takes the piece.
  std::shared_ptr<Program> program(ProgramOptions options = {}) {
    return Program::make(std::move(piece), task, session, std::move(options));
  }
  // The value of the node with this name.
  static const Value& value(const Layout& layout, const Piece& piece, std::string_view name) {
    return layout.values[size_t(layout.value_of(*piece.graph->find(name), 0))];
  }

  std::shared_ptr<TaskState> task;
  std::shared_ptr<SessionState> session = std::make_shared<SessionState>();
  Piece piece;
  std::vector<Shape> shapes;
  std::vector<Tensor> inputs;
};

}  // namespace capstan
