#include "ops/catalog.h"

#include <vector>

#include "base/isa.h"
#include "kernel/context.h"
#include "ops/families.h"

namespace capstan {
namespace {

std::vector<const OpDef*> all_rows() {
  std::vector<const OpDef*> rows;
  for (OpFamily family : op_families()) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  return rows;
}

std::vector<Tensor> run_alone(const Node& node, std::vector<Tensor> inputs) {
  TaskState task("", 1, posix_files(), best_isa());
  SessionState session;
  RunContext run{.task = &task, .session = &session};
  std::vector<KernelInput> values;
  for (Tensor& input : inputs) values.push_back({std::move(input), nullptr});
  return run_kernel(node, std::move(values), run);
}

}  // namespace

const Catalog& standard_catalog() {
  // Never destroyed: threads may be at work while the process ends.
  static const auto& catalog = *new Catalog(all_rows(), run_alone);
  return catalog;
}

}  // namespace capstan
