// Gives every reader of a variable the value that DESIGN.md's "What a step means" promises: a read
// has no time of its own but belongs to its consumer. For each variable the step's writes get a
// fixed order W1..Wn; version k is the value after Wk. Each version that somebody reads becomes one
// read node, after Wk and before Wk+1; nothing else is ordered, so no cycle can arise.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "plan/step_graph.h"

namespace capstan {
namespace {

class ReadResolver {
 public:
  explicit ReadResolver(StepGraph& step) : step_(step) {}

  void run() {
    find_writes();
    order_writes();
    compute_ancestors();
    redirect_consumers();
    redirect_fetches();
    inherit_orderings();
    step_.sweep();
  }

 private:
  using Bits = std::vector<uint64_t>;

  StepNode& at(int i) { return step_.nodes[size_t(i)]; }
  bool is_op(int i) { return at(i).kind == StepNode::Kind::kOp; }

  // The variable that this edge hands over by reference, or null for a plain value.
  Node* referenced(const StepEdge& e) {
    if (!is_op(e.from)) return nullptr;
    Node* node = at(e.from).node;
    return node->output_is_ref(e.index) ? variable_of({node, e.index}) : nullptr;
  }

  // The variable of which node i is a plain read: Identity of its reference.
  Node* read_by(int i) {
    if (!is_op(i) || at(i).node->op() != "Identity") return nullptr;
    return referenced(at(i).inputs[0]);
  }

  void find_writes() {
    for (size_t i = 0; i < step_.nodes.size(); ++i) {
      if (!is_op(int(i))) continue;
      const Node& node = *at(int(i)).node;
      for (size_t k = 0; k < node.inputs().size(); ++k) {
        if (!node.def().writes_input(k)) continue;
        if (Node* v = variable_of(node.input(int(k)))) {
          bit_of_.try_emplace(int(i), int(bit_of_.size()));
          auto& list = writes_[variable_key(*v)];
          if (list.empty() || list.back() != int(i)) list.push_back(int(i));
        }
      }
    }
  }

  // Which writes come before each node, as bits. Again after every change of order.
  void compute_ancestors() {
    size_t words = (bit_of_.size() + 63) / 64;
    ancestors_.assign(step_.nodes.size(), Bits(words, 0));
    if (bit_of_.empty()) return;
    for (int i : step_.order()) {
      Bits& mine = ancestors_[size_t(i)];
      auto inherit = [&](int from) {
        const Bits& other = ancestors_[size_t(from)];
        for (size_t w = 0; w < words; ++w) mine[w] |= other[w];
        if (auto it = bit_of_.find(from); it != bit_of_.end()) {
          mine[size_t(it->second) / 64] |= 1ull << (it->second % 64);
        }
      };
      for (const StepEdge& e : at(i).inputs) inherit(e.from);
      for (int c : at(i).controls) inherit(c);
    }
  }

  bool comes_before(int write, int node) {
    int bit = bit_of_.at(write);
    return ancestors_[size_t(node)][size_t(bit) / 64] >> (bit % 64) & 1;
  }

  // Writes that are free of each other run in the order in which their nodes were made.
  void order_writes() {
    for (auto& [key, writes] : writes_) {
      if (writes.size() < 2) continue;
      compute_ancestors();
      std::ranges::sort(writes, {}, [&](int i) { return at(i).node->id(); });
      std::vector<int> chosen;
      while (!writes.empty()) {
        auto next = std::ranges::find_if(writes, [&](int w) {
          return std::ranges::none_of(writes, [&](int o) { return o != w && comes_before(o, w); });
        });
        if (!chosen.empty()) at(*next).controls.push_back(chosen.back());
        chosen.push_back(*next);
        writes.erase(next);
      }
      writes = std::move(chosen);
    }
  }

  // The number of the last write that node i is ordered after, or is itself.
  int version_at(const std::string& key, int i) {
    auto it = writes_.find(key);
    if (it == writes_.end()) return 0;
    auto self = std::ranges::find(it->second, i);
    return self == it->second.end() ? version_for(key, i) : int(self - it->second.begin()) + 1;
  }

  // The number of the last write that node i is ordered after.
  int version_for(const std::string& key, int i) {
    auto it = writes_.find(key);
    if (it == writes_.end()) return 0;
    for (int k = int(it->second.size()); k > 0; --k) {
      int w = it->second[size_t(k - 1)];
      if (comes_before(w, i)) return k;
    }
    return 0;
  }

  int read(Node* variable, int version) {
    std::string key = variable_key(*variable);
    auto [it, fresh] = reads_.try_emplace({key, version}, int(step_.nodes.size()));
    if (!fresh) return it->second;
    StepNode n;
    n.kind = StepNode::Kind::kRead;
    n.node = variable;
    n.version = version;
    auto writes = writes_.find(key);
    if (writes != writes_.end()) {
      const std::vector<int>& w = writes->second;
      if (version > 0) n.controls.push_back(w[size_t(version - 1)]);
      if (size_t(version) < w.size()) at(w[size_t(version)]).controls.push_back(it->second);
    }
    step_.nodes.push_back(std::move(n));
    return it->second;
  }

  void redirect_consumers() {
    size_t count = step_.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      if (!is_op(int(i)) || read_by(int(i))) continue;
      for (size_t k = 0; k < at(int(i)).inputs.size(); ++k) redirect(int(i), int(k));
    }
  }

  void redirect(int i, int k) {
    StepEdge e = at(i).inputs[size_t(k)];
    if (Node* variable = read_by(e.from)) {
      std::vector<int> inherited = at(e.from).controls;
      StepEdge direct = at(e.from).inputs[0];
      if (!at(direct.from).node->def().variable) inherited.push_back(direct.from);
      int r = read(variable, version_for(variable_key(*variable), i));
      at(i).inputs[size_t(k)] = {r, 0};
      at(i).controls.insert(at(i).controls.end(), inherited.begin(), inherited.end());
    } else if (Node* direct = referenced(e); direct && !at(i).node->input_is_ref(k)) {
      int r = read(direct, version_for(variable_key(*direct), i));
      at(i).inputs[size_t(k)] = {r, 0};
      if (!at(e.from).node->def().variable) at(i).controls.push_back(e.from);
    }
  }

  void redirect_fetches() {
    for (StepEdge& fetch : step_.fetches) {
      int from = fetch.from;
      if (Node* variable = read_by(from)) {
        fetch = {read(variable, version_for(variable_key(*variable), from)), 0};
      } else if (Node* direct = referenced(fetch)) {
        std::string key = variable_key(*direct);
        auto it = writes_.find(key);
        int last = it == writes_.end() ? 0 : int(it->second.size());
        // A variable that is itself fetched shows the value after the step's writes.
        int version = at(from).node->def().variable ? last : version_at(key, from);
        fetch = {read(direct, version), 0};
      }
    }
  }

  // Control edges from what does no work of its own (a plain read, a NoOp that groups others) order
  // nothing by themselves; what it waited for is inherited. A group on the worker would otherwise
  // cost each parameter server a round trip.
  void inherit_orderings() {
    for (size_t i = 0; i < step_.nodes.size(); ++i) {
      std::vector<int> kept;
      std::vector<int> stack = at(int(i)).controls;
      std::unordered_set<int> seen;
      while (!stack.empty()) {
        int c = stack.back();
        stack.pop_back();
        if (!seen.insert(c).second) continue;
        bool reads = read_by(c) != nullptr;
        if (!reads && !(is_op(c) && at(c).node->op() == "NoOp")) {
          kept.push_back(c);
          continue;
        }
        stack.insert(stack.end(), at(c).controls.begin(), at(c).controls.end());
        if (reads && !at(at(c).inputs[0].from).node->def().variable)
          stack.push_back(at(c).inputs[0].from);
      }
      std::ranges::sort(kept);
      at(int(i)).controls = std::move(kept);
    }
  }

  StepGraph& step_;
  std::map<std::string, std::vector<int>> writes_;  // by variable, in order
  std::unordered_map<int, int> bit_of_;             // write -> its bit
  std::vector<Bits> ancestors_;
  std::map<std::pair<std::string, int>, int> reads_;
};

}  // namespace

void resolve_reads(StepGraph& step) { ReadResolver(step).run(); }

}  // namespace capstan
