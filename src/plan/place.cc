#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "graph/device.h"
#include "plan/step_graph.h"

namespace capstan {
namespace {

// What must be on one task: whoever shares a reference or a resource, and colocation groups.
class Groups {
 public:
  explicit Groups(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int i) {
    while (parent_[size_t(i)] != i) i = parent_[size_t(i)] = parent_[size_t(parent_[size_t(i)])];
    return i;
  }
  void join(int a, int b) { parent_[size_t(find(a))] = find(b); }

 private:
  std::vector<int> parent_;
};

std::string_view colocation_target(std::string_view text) {
  return text.starts_with("loc:@") ? text.substr(5) : std::string_view();
}

class Placer {
 public:
  Placer(StepGraph& step, const Placement& placement)
      : step_(step), placement_(placement), groups_(step.nodes.size()) {
    for (const std::string& task : placement.tasks) tasks_.push_back(Device::parse(task));
  }

  void run() {
    index_names();
    for (size_t i = 0; i < step_.nodes.size(); ++i) join_neighbours(int(i));
    std::unordered_map<int, int> task_of_group;
    for (size_t i = 0; i < step_.nodes.size(); ++i) decide(int(i), task_of_group);
    for (size_t i = 0; i < step_.nodes.size(); ++i) {
      StepNode& n = step_.nodes[i];
      if (n.dead || n.kind == StepNode::Kind::kFeed) continue;
      auto it = task_of_group.find(groups_.find(int(i)));
      if (it != task_of_group.end()) n.task = it->second;
    }
  }

 private:
  void index_names() {
    for (size_t i = 0; i < step_.nodes.size(); ++i) {
      const StepNode& n = step_.nodes[i];
      if (n.dead || n.kind == StepNode::Kind::kFeed) continue;
      by_name_.try_emplace(n.node->name(), int(i));
    }
  }

  void join_neighbours(int i) {
    const StepNode& n = step_.nodes[size_t(i)];
    if (n.dead || n.kind != StepNode::Kind::kOp) return;
    for (const StepEdge& e : n.inputs) {
      const StepNode& from = step_.nodes[size_t(e.from)];
      if (from.kind != StepNode::Kind::kOp) continue;
      if (from.node->output_is_ref(e.index) ||
          from.node->output_type(e.index) == DType::kResource) {
        groups_.join(i, e.from);
      }
    }
    if (!n.node->attrs().has("_class")) return;
    for (const std::string& text : n.node->attrs().get<std::vector<std::string>>("_class")) {
      auto it = by_name_.find(std::string(colocation_target(text)));
      if (it != by_name_.end()) groups_.join(i, it->second);
    }
  }

  // The first member that declares something decides for its group, else the first with a device.
  void decide(int i, std::unordered_map<int, int>& task_of_group) {
    const StepNode& n = step_.nodes[size_t(i)];
    if (n.dead || n.kind == StepNode::Kind::kFeed || n.node->device().empty()) return;
    int group = groups_.find(i);
    bool declares = n.kind == StepNode::Kind::kRead || is_declaration(*n.node);
    bool decided = task_of_group.count(group) && (declared_.count(group) || !declares);
    if (decided) return;
    task_of_group[group] = task_for(*n.node);
    if (declares) declared_[group] = true;
  }

  int task_for(const Node& node) const {
    Device want = Device::parse(node.device());
    const Device& own = tasks_[0];
    // "/task:1" within a job scope that says nothing, or plain "/cpu:0": the conductor's own.
    if (!want.job && !want.task) return 0;
    std::string job = want.job ? *want.job : own.job.value_or("localhost");
    for (size_t t = 0; t < tasks_.size(); ++t) {
      if (tasks_[t].job == job && (!want.task || tasks_[t].task == want.task)) return int(t);
    }
    std::string known;
    for (const std::string& task : placement_.tasks) known += (known.empty() ? "" : ", ") + task;
    throw invalid_argument(
        "node '{}' wants device '{}', which is none of this session's tasks ({}); run it in a "
        "session on a cluster that has the task, or change the device",
        node.name(), node.device(), known);
  }

  StepGraph& step_;
  const Placement& placement_;
  Groups groups_;
  std::vector<Device> tasks_;
  std::unordered_map<std::string, int> by_name_;
  std::unordered_map<int, bool> declared_;
};

}  // namespace

void place(StepGraph& step, const Placement& placement) { Placer(step, placement).run(); }

}  // namespace capstan
