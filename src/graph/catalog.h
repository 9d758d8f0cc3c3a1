#pragma once

// All ops that a graph may hold. Built by src/ops and handed to a Graph as a const reference.

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/op_def.h"

namespace capstan {

class Catalog {
 public:
  // Rows must outlive the catalog; a name that appears twice is a bug of ours.
  explicit Catalog(std::span<const OpDef* const> rows);

  const OpDef* find(std::string_view name) const;
  // Throws Unimplemented with the nearest names when there is no such op.
  const OpDef& get(std::string_view name) const;
  std::span<const OpDef* const> all() const { return rows_; }
  // Up to `count` known names closest in spelling, best first.
  std::vector<std::string_view> nearest(std::string_view name, size_t count = 3) const;

 private:
  std::vector<const OpDef*> rows_;
  std::unordered_map<std::string_view, const OpDef*> by_name_;
};

}  // namespace capstan
