#pragma once

// Functions that users of job scripts know from Spark and DuckDB lacks, or has under another name
// or meaning. One row each; docs/formats/job-script.md lists them.

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "jobs/duck/connection.h"
#include "jobs/duck/spark_sql.h"

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

// Makes those that a query names, once: most scripts use few.
class SparkMacros {
 public:
  explicit SparkMacros(Link& link) : link_(link) {}
  void add_those_in(const SparkSql& sql);
  // A function of the script's own takes the name.
  void forget(const std::string& name) { known_.insert(name); }

 private:
  void add(const SparkFunction& function);

  Link& link_;
  std::set<std::string> known_;
};

}  // namespace capstan::duck
