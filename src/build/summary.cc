#include "build/summary.h"

#include <cctype>

namespace capstan {
namespace {

// tf.summary's rule for names: what a node name may not hold becomes an underscore.
std::string clean(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool fine = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' ||
                c == '/' || c == '\\';
    out += fine ? c : '_';
  }
  while (!out.empty() && out.front() == '/') out.erase(out.begin());
  return out;
}

Output named(Graph& g, std::string_view op, std::string_view input, std::string_view name,
             Output value) {
  auto scope = g.name_scope(clean(name));
  std::string full = g.current_scope();
  Output tag = g.constant(Tensor::scalar<std::string>(full), input);
  return g.add(op, {tag, value}, {}, full + "/");
}

Output tagged(Graph& g, std::string_view op, std::string_view input, std::string_view text,
              Output value) {
  std::string full = g.unique_name(op);
  Output tag = g.constant(Tensor::scalar<std::string>(std::string(text)),
                          fmt::format("{}/{}/", full, input));
  return g.add(op, {tag, value}, {}, full + "/");
}

}  // namespace

Output scalar_summary(Graph& graph, std::string_view name, Output value) {
  return named(graph, "ScalarSummary", "tags", name, value);
}

Output histogram_summary(Graph& graph, std::string_view name, Output values) {
  return named(graph, "HistogramSummary", "tag", name, values);
}

Output scalar_summary_tagged(Graph& graph, std::string_view tag, Output value) {
  return tagged(graph, "ScalarSummary", "tags", tag, value);
}

Output histogram_summary_tagged(Graph& graph, std::string_view tag, Output values) {
  return tagged(graph, "HistogramSummary", "tag", tag, values);
}

Output merge_summaries(Graph& graph, std::span<const Output> summaries, std::string_view name) {
  auto scope = graph.name_scope(name);
  return graph.add("MergeSummary", summaries, {}, graph.current_scope() + "/MergeSummary/");
}

}  // namespace capstan
