#include "jobs/duck/spark_functions.h"

#include <fmt/format.h>

namespace capstan::duck {
namespace {

constexpr SparkFunction kFunctions[] = {
    {"nvl", "(a, b) AS coalesce(a, b)", "b where a is null", "nvl(null, 'x')", "x"},
};

}  // namespace

std::span<const SparkFunction> spark_functions() { return kFunctions; }

void add_spark_functions(Link& link) {
  for (const SparkFunction& function : kFunctions) {
    link.run(fmt::format("CREATE OR REPLACE MACRO main.{}{}", function.name, function.macro));
  }
}

}  // namespace capstan::duck
