#include "exec/place.h"

#include "exec/arena.h"

namespace capstan {
namespace {

using Numbers = std::vector<int>;  // of values

size_t bytes(const Value& v) { return size_t(v.shape.elements()) * dtype_size(v.dtype); }

// The operand whose place the action's one result takes: just there, for the pieces of an
// element-wise action run side by side. Or -1.
int operand_to_replace(const Layout& layout, int action, const Numbers& born, const Numbers& dies) {
  if (layout.actions[size_t(action)].kind != Action::Kind::kChain || born.size() != 1) return -1;
  const Value& result = layout.values[size_t(born[0])];
  for (int v : dies) {
    const Value& x = layout.values[size_t(v)];
    if (x.first < action && x.shape == result.shape && x.dtype == result.dtype) return v;
  }
  return -1;
}

}  // namespace

void place_in_arena(Layout& layout, bool in_place) {
  Arena arena;
  std::vector<Numbers> born(layout.actions.size() + 1), dies(layout.actions.size() + 2);
  for (size_t v = 0; v < layout.values.size(); ++v) {
    const Value& x = layout.values[v];
    if (x.storage != Storage::kArena) continue;
    born[size_t(x.first)].push_back(int(v));
    dies[size_t(x.last)].push_back(int(v));
  }
  for (size_t s = 0; s < layout.actions.size(); ++s) {
    const int taken = in_place ? operand_to_replace(layout, int(s), born[s], dies[s]) : -1;
    for (int v : born[s]) {
      Value& x = layout.values[size_t(v)];
      x.offset = taken < 0 ? arena.take(bytes(x)) : layout.values[size_t(taken)].offset;
    }
    for (int v : dies[s]) {
      const Value& x = layout.values[size_t(v)];
      if (v != taken) arena.release(x.offset, bytes(x));
    }
  }
  layout.arena_bytes = arena.size();
}

}  // namespace capstan
