// Cuts a placed step into segments: one per (task, level, set of blocking ops that come before,
// wherever they are). An op that may wait thus delays only what depends on it.

#include <algorithm>
#include <set>
#include <unordered_map>

#include "plan/step_graph.h"

namespace capstan {
namespace {

struct Key {
  int level, task;
  std::set<int> blockers;
  auto operator<=>(const Key&) const = default;
};

class Cutter {
 public:
  Cutter(const StepGraph& step, const Catalog& catalog)
      : step_(step), catalog_(catalog), order_(step.order()) {}

  Plan run() {
    group();
    join_waiting();
    std::vector<std::vector<int>> members(keys_.size());
    for (int i : order_) {
      if (segment_of_[size_t(i)] >= 0) members[size_t(segment_of_[size_t(i)])].push_back(i);
    }
    // Segments get their numbers in an order in which each follows what it depends on.
    for (size_t s : sorted(members)) {
      number_[int(s)] = int(plan_.segments.size());
      plan_.segments.emplace_back();
      build(members[s], plan_.segments.back());
    }
    for (const StepEdge& e : step_.fetches) plan_.fetches.push_back(source(e));
    return std::move(plan_);
  }

 private:
  const StepNode& at(int i) const { return step_.nodes[size_t(i)]; }

  bool declares(int i) const {
    return at(i).kind == StepNode::Kind::kOp && is_declaration(*at(i).node);
  }
  // Only where it is used; a declaration that is fetched or run has a segment besides.
  bool only_copied(int i) const { return declares(i) && !materialized_.count(i); }

  void group() {
    for (const StepEdge& e : step_.fetches) materialized_.insert(e.from);
    for (int t : step_.targets) materialized_.insert(t);
    segment_of_.assign(step_.nodes.size(), -1);
    blockers_.resize(step_.nodes.size());
    for (int i : order_) {
      if (at(i).kind == StepNode::Kind::kFeed || only_copied(i)) continue;
      Key key{at(i).level, at(i).task, blockers_before(i)};
      if (at(i).kind == StepNode::Kind::kOp && at(i).node->def().blocking) key.blockers.insert(i);
      blockers_[size_t(i)] = key.blockers;
      auto [it, fresh] = index_.try_emplace(key, int(keys_.size()));
      if (fresh) keys_.push_back(key);
      segment_of_[size_t(i)] = it->second;
    }
  }

  std::set<int> blockers_before(int i) const {
    std::set<int> out;
    auto inherit = [&](int from) {
      out.insert(blockers_[size_t(from)].begin(), blockers_[size_t(from)].end());
    };
    for (const StepEdge& e : at(i).inputs) inherit(e.from);
    for (int c : at(i).controls) inherit(c);
    return out;
  }

  bool waits_within(int segment, const std::set<int>& blockers) const {
    return std::ranges::any_of(blockers, [&](int b) { return segment_of_[size_t(b)] == segment; });
  }

  // Whether `from` waits for nothing of its own, and `into` for one op more, which is its own.
  bool lets_begin(int from, int into) const {
    const Key &a = keys_[size_t(from)], &b = keys_[size_t(into)];
    return a.task == b.task && a.level == b.level && a.blockers.size() + 1 == b.blockers.size() &&
           !waits_within(from, a.blockers) && waits_within(into, b.blockers);
  }

  // What runs on another task only to let one waiting op begin travels with it: one call, not two.
  void join_waiting() {
    std::vector<std::set<int>> users(keys_.size());
    std::vector<char> fetched(keys_.size(), 0);
    for (int i : order_) {
      int s = segment_of_[size_t(i)];
      if (s < 0) continue;
      auto note = [&](int from) {
        int f = segment_of_[size_t(from)];
        if (f >= 0 && f != s) users[size_t(f)].insert(s);
      };
      for (const StepEdge& e : at(i).inputs) note(e.from);
      for (int c : at(i).controls) note(c);
    }
    for (const StepEdge& e : step_.fetches) {
      if (segment_of_[size_t(e.from)] >= 0) fetched[size_t(segment_of_[size_t(e.from)])] = 1;
    }
    for (size_t s = 0; s < keys_.size(); ++s) {
      if (keys_[s].task == 0 || fetched[s] || users[s].size() != 1) continue;
      int into = *users[s].begin();
      if (!lets_begin(int(s), into)) continue;
      for (int& segment : segment_of_) {
        if (segment == int(s)) segment = into;
      }
    }
  }

  std::vector<size_t> sorted(const std::vector<std::vector<int>>& members) const {
    std::vector<size_t> out;
    for (size_t s = 0; s < keys_.size(); ++s) {
      if (!members[s].empty()) out.push_back(s);
    }
    std::ranges::sort(out, [&](size_t a, size_t b) {
      const Key &x = keys_[a], &y = keys_[b];
      return std::tuple(x.level, x.blockers.size(), members[a][0]) <
             std::tuple(y.level, y.blockers.size(), members[b][0]);
    });
    return out;
  }

  Source source(const StepEdge& e) {
    if (at(e.from).kind == StepNode::Kind::kFeed) return {-1, at(e.from).feed};
    int number = number_.at(segment_of_[size_t(e.from)]);
    auto [it, fresh] = exported_.try_emplace({e.from, e.index}, -1);
    if (fresh) {
      std::vector<Output>& outputs = plan_.segments[size_t(number)].piece.outputs;
      it->second = int(outputs.size());
      outputs.push_back({built_.at(e.from), e.index});
    }
    return {number, it->second};
  }

  void build(const std::vector<int>& members, Segment& segment) {
    copies_.clear();
    args_.clear();
    segment.piece.graph = std::make_unique<Graph>(catalog_);
    for (int i : members) {
      segment.task = at(i).task;
      segment.blocking |=
          at(i).kind == StepNode::Kind::kOp && at(i).node->def().blocking != nullptr;
      built_[i] =
          at(i).kind == StepNode::Kind::kRead ? build_read(i, segment) : build_op(i, segment);
    }
    std::ranges::sort(segment.after);
    auto repeated = std::ranges::unique(segment.after);
    segment.after.erase(repeated.begin(), repeated.end());
  }

  // A declaration's copy in this segment, under its own name.
  Node* copy(Node* node, Segment& segment) {
    Node*& made = copies_[node];
    if (!made) {
      made = &segment.piece.graph->import_node(node->op(), node->name(), {}, {}, node->attrs(),
                                               node->device());
    }
    return made;
  }

  Node* build_read(int i, Segment& segment) {
    Node* variable = copy(at(i).node, segment);
    std::string name = fmt::format("{}/_read_{}", at(i).node->name(), at(i).version);
    return &segment.piece.graph->import_node("Identity", name, {{variable, 0}},
                                             controls(i, segment),
                                             {{"T", variable->output_type(0)}}, variable->device());
  }

  Node* build_op(int i, Segment& segment) {
    Node* node = at(i).node;
    std::vector<Node*> before = controls(i, segment);
    std::vector<Output> inputs;
    for (size_t k = 0; k < at(i).inputs.size(); ++k) {
      inputs.push_back(input(at(i).inputs[k], node->input_is_ref(int(k)), before, segment));
    }
    AttrMap attrs = node->attrs();
    attrs.erase("_class");
    return &segment.piece.graph->import_node(node->op(), node->name(), std::move(inputs),
                                             std::move(before), std::move(attrs), node->device());
  }

  Output input(const StepEdge& e, bool by_reference, std::vector<Node*>& before, Segment& segment) {
    const StepNode& from = at(e.from);
    if (from.kind == StepNode::Kind::kOp && (by_reference || from.node->output_is_ref(e.index))) {
      if (Node* variable = variable_of({from.node, e.index})) {
        if (from.node != variable) order_after(e.from, before, segment);
        return {copy(variable, segment), 0};
      }
    }
    if (here(e.from, segment)) return {built_.at(e.from), e.index};
    if (declares(e.from)) return {copy(from.node, segment), e.index};
    return argument(e, segment);
  }

  bool here(int i, const Segment& segment) const {
    int s = segment_of_[size_t(i)];
    return s >= 0 && number_.count(s) && &plan_.segments[size_t(number_.at(s))] == &segment;
  }

  Output argument(const StepEdge& e, Segment& segment) {
    auto [it, fresh] = args_.try_emplace({e.from, e.index}, nullptr);
    if (!fresh) return {it->second, 0};
    Source from = source(e);
    if (from.segment >= 0) segment.after.push_back(from.segment);
    const StepNode& n = at(e.from);
    // Feeds and reads stand for one output of their node.
    int index = n.kind == StepNode::Kind::kFeed ? n.fed_output : e.index;
    int64_t number = int64_t(segment.piece.args.size());
    Node& arg = segment.piece.graph->import_node("_Arg", fmt::format(".arg_{}", number), {}, {},
                                                 {{"T", n.node->output_type(index)},
                                                  {"index", number},
                                                  {"shape", n.node->output_shape(index)}},
                                                 "");
    segment.piece.args.push_back(&arg);
    segment.inputs.push_back(from);
    it->second = &arg;
    return {&arg, 0};
  }

  void order_after(int i, std::vector<Node*>& before, Segment& segment) {
    if (at(i).kind == StepNode::Kind::kFeed || declares(i)) return;
    if (here(i, segment)) {
      if (std::ranges::find(before, built_.at(i)) == before.end()) before.push_back(built_.at(i));
    } else {
      segment.after.push_back(number_.at(segment_of_[size_t(i)]));
    }
  }

  std::vector<Node*> controls(int i, Segment& segment) {
    std::vector<Node*> before;
    for (int c : at(i).controls) order_after(c, before, segment);
    return before;
  }

  const StepGraph& step_;
  const Catalog& catalog_;
  const std::vector<int> order_;
  std::set<int> materialized_;
  std::vector<int> segment_of_;  // by step node: index into keys_, or -1
  std::vector<std::set<int>> blockers_;
  std::vector<Key> keys_;
  std::map<Key, int> index_;
  std::unordered_map<int, int> number_;  // index into keys_ -> number in the plan
  Plan plan_;
  std::unordered_map<int, Node*> built_;
  std::map<std::pair<int, int>, int> exported_;
  std::unordered_map<Node*, Node*> copies_;  // of the segment being built
  std::map<std::pair<int, int>, Node*> args_;
};

}  // namespace

Plan cut(const StepGraph& step, const Catalog& catalog) { return Cutter(step, catalog).run(); }

}  // namespace capstan
