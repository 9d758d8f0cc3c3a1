#pragma once

// Functions that users of job scripts know from Spark and DuckDB lacks, or has under another name
// or meaning. One row each; the engine and the documentation are made from the rows.

#include <span>
#include <string_view>

#include "jobs/duck/connection.h"

namespace capstan::duck {

struct SparkFunction {
  std::string_view name;
  // Variants by number of arguments: "(a, b) AS a + b, (a, b, c) AS …".
  std::string_view macro;
  std::string_view doc;
  std::string_view sample;  // an expression, and
  std::string_view gives;   // what it is, as text
};

std::span<const SparkFunction> spark_functions();
void add_spark_functions(Link& link);

}  // namespace capstan::duck
