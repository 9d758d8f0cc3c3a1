// Where elements are, and which are there once.

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "graph/shape_context.h"
#include "kernel/context.h"
#include "ops/families.h"
#include "ops/grad_nodes.h"
#include "ops/types.h"

namespace capstan {
namespace {

using Kernel = void (*)(KernelContext&);
void call_state(KernelContext& c) { c.state<Kernel>()(c); }

template <class T>
void where(KernelContext& c) {
  const Tensor& x = c.in(0);
  const Shape& shape = x.shape();
  if (shape.rank() == 0) throw invalid_argument("Where needs one dimension or more, not a scalar");
  const T* in = x.data<T>();
  // In one pass: a variable may change between two, and there would be more of them than room.
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (in[i] != T(0)) places.push_back(i);
  }
  Tensor& out = c.out(0, Shape{int64_t(places.size()), shape.rank()});
  int64_t* to = out.data<int64_t>();
  for (int64_t rest : places) {
    for (int d = shape.rank() - 1; d >= 0; --d, rest /= shape[d + 1]) to[d] = rest % shape[d];
    to += shape.rank();
  }
}

constexpr OpDef kWhere = {
    .name = "Where",
    .doc = "The coordinates of the elements that are true or not zero, in order.",
    .inputs = {{"input", "T"}},
    .outputs = {{"index", "int64"}},
    .attrs = {{"T", "type:float|double|int32|uint8|int16|int8|int64|uint16|uint32|uint64|bool",
               "bool"}},
    .shape =
        [](ShapeContext& c) {
          c.out(0, Shape{-1, c.in(0).known_rank() ? c.in(0).rank() : -1});
        },
    .kernel = call_state,
    .prepare = [](const Node& node) -> std::shared_ptr<void> {
      DType dtype = node.input(0).dtype();
      if (dtype == DType::kBool) return std::make_shared<Kernel>(where<bool>);
      return std::make_shared<Kernel>(for_number(
          node, dtype, [](auto tag) -> Kernel { return where<typename decltype(tag)::type>; }));
    },
    .no_gradient = true,
    .samples = {"bool[2,2]{1,0,0,1}", "float[3]{0,2,3}"},
};

template <class T>
bool equals_itself(const T& value) {
  return value == value;  // NOLINT(misc-redundant-expression): false for a NaN
}

template <class T>
void list_diff(KernelContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  const T *xs = x.data<T>(), *ys = y.data<T>();
  std::unordered_set<T> dropped;
  // A NaN equals nothing, so there is none to drop.
  std::copy_if(ys, ys + y.size(), std::inserter(dropped, dropped.end()), equals_itself<T>);
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (!dropped.contains(xs[i])) kept.push_back(i);
  }
  Shape shape{int64_t(kept.size())};
  Tensor &out = c.out(0, shape), &idx = c.out(1, shape);
  for (size_t i = 0; i < kept.size(); ++i) {
    out.data<T>()[i] = xs[kept[i]];
    set_int(idx, int64_t(i), kept[i]);
  }
}

template <class T>
void unique(KernelContext& c) {
  const Tensor& x = c.in(0);
  const T* xs = x.data<T>();
  Tensor& idx = c.out(1, x.shape());
  std::unordered_map<T, int64_t> seen;
  std::vector<int64_t> first;
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t place = int64_t(first.size());
    if (equals_itself(xs[i])) place = seen.try_emplace(xs[i], place).first->second;
    if (place == int64_t(first.size())) first.push_back(i);
    set_int(idx, i, place);
  }
  Tensor& y = c.out(0, Shape{int64_t(first.size())});
  for (size_t i = 0; i < first.size(); ++i) y.data<T>()[i] = xs[first[i]];
}

template <template <class> class Make>
std::shared_ptr<void> prepare_list(const Node& node) {
  DType dtype = node.input(0).dtype();
  if (dtype == DType::kString) return std::make_shared<Kernel>(Make<std::string>::kernel);
  if (dtype == DType::kBool) return std::make_shared<Kernel>(Make<bool>::kernel);
  return std::make_shared<Kernel>(for_number(
      node, dtype, [](auto tag) -> Kernel { return Make<typename decltype(tag)::type>::kernel; }));
}

template <class T>
struct MakeListDiff {
  static constexpr Kernel kernel = list_diff<T>;
};
template <class T>
struct MakeUnique {
  static constexpr Kernel kernel = unique<T>;
};

constexpr OpDef kListDiff = {
    .name = "ListDiff",
    .python = "setdiff1d listdiff (x, y, index_dtype:out_idx)",
    .doc = "The elements of x that are not in y, in order, and where they were.",
    .inputs = {{"x", "T", 1}, {"y", "T", 1}},
    .outputs = {{"out", "T"}, {"idx", "out_idx"}},
    .attrs = {{"T", kAnyType}, {"out_idx", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { c.out(0, Shape{-1}), c.out(1, Shape{-1}); },
    .kernel = call_state,
    .prepare = prepare_list<MakeListDiff>,
    .samples = {"int32[4]{1,2,3,4} int32[2]{2,4}"},
};

constexpr OpDef kUnique = {
    .name = "Unique",
    .python = "unique",
    .doc =
        "Each value of x once, in the order of its first place, and for each element which one it "
        "is.",
    .inputs = {{"x", "T", 1}},
    .outputs = {{"y", "T"}, {"idx", "out_idx"}},
    .attrs = {{"T", kAnyType}, {"out_idx", kIndexTypes, "int32"}},
    .shape = [](ShapeContext& c) { c.out(0, Shape{-1}), c.out(1, c.in(0)); },
    .kernel = call_state,
    .prepare = prepare_list<MakeUnique>,
    .samples = {"int32[5]{4,2,4,1,2}", "string[3]{a,b,a}"},
};

constexpr const OpDef* kRows[] = {&kWhere, &kListDiff, &kUnique};

}  // namespace

OpFamily find_ops() { return kRows; }

}  // namespace capstan
