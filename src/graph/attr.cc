#include "graph/attr.h"

namespace capstan {

const Attr* AttrMap::find(std::string_view name) const {
  auto it = items_.find(name);
  return it == items_.end() ? nullptr : &it->second;
}

void AttrMap::erase(std::string_view name) {
  auto it = items_.find(name);
  if (it != items_.end()) items_.erase(it);
}

void AttrMap::bad(std::string_view name, bool present) {
  if (present) throw invalid_argument("attr '{}' is of another kind than it is read as", name);
  throw invalid_argument("there is no attr '{}'", name);
}

}  // namespace capstan
