#include "ops/catalog.h"

#include <vector>

#include "ops/families.h"

namespace capstan {
namespace {

std::vector<const OpDef*> all_rows() {
  std::vector<const OpDef*> rows;
  for (OpFamily family :
       {accumulator_ops(), arithmetic_ops(), array_ops(),   comparison_ops(), control_ops(),
        fill_ops(),        index_ops(),      io_ops(),      math_ops(),       matmul_ops(),
        move_ops(),        nn_ops(),         queue_ops(),   random_ops(),     reduction_ops(),
        slice_ops(),       softmax_ops(),    special_ops(), state_ops(),      summary_ops(),
        training_ops()}) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  return rows;
}

}  // namespace

const Catalog& standard_catalog() {
  // Never destroyed: threads may be at work while the process ends.
  static const auto& catalog = *new Catalog(all_rows());
  return catalog;
}

}  // namespace capstan
