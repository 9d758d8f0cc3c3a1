#include "build/device_setter.h"

#include <algorithm>
#include <memory>

#include "graph/device.h"

namespace capstan {
namespace {

const std::vector<std::string>& default_ps_ops() {
  static const std::vector<std::string> ops = {"Variable",
                                               "VariableV2",
                                               "AutoReloadVariable",
                                               "MutableHashTable",
                                               "MutableHashTableV2",
                                               "MutableHashTableOfTensors",
                                               "MutableHashTableOfTensorsV2",
                                               "MutableDenseHashTable",
                                               "MutableDenseHashTableV2",
                                               "VarHandleOp",
                                               "BoostedTreesEnsembleResourceHandleOp",
                                               "BoostedTreesQuantileStreamResourceHandleOp",
                                               "ResourceConditionalAccumulator",
                                               "DecisionTreeResource"};
  return ops;
}

class Setter {
 public:
  explicit Setter(DeviceSetterOptions options) : options_(std::move(options)) {
    if (options_.ps_ops.empty()) options_.ps_ops = default_ps_ops();
  }

  std::string device_for(const Node& node) {
    if (!options_.merge_devices && !node.device().empty()) return node.device();
    Device now = Device::parse(node.device());
    if (goes_to_ps(node)) {
      Device ps = Device::parse(options_.ps_device);
      bool same_job = ps.job && (!now.job || *now.job == *ps.job);
      if (same_job) {
        ps.task = options_.strategy ? options_.strategy(node) : next_++ % options_.ps_tasks;
        return ps.merged_with(now).text();
      }
    }
    return Device::parse(options_.worker_device).merged_with(now).text();
  }

 private:
  bool goes_to_ps(const Node& node) const {
    return options_.ps_tasks > 0 && !options_.ps_device.empty() &&
           std::ranges::find(options_.ps_ops, node.op()) != options_.ps_ops.end();
  }

  DeviceSetterOptions options_;
  int next_ = 0;
};

}  // namespace

DeviceFunction replica_device_setter(DeviceSetterOptions options) {
  auto setter = std::make_shared<Setter>(std::move(options));
  return [setter](const Node& node) { return setter->device_for(node); };
}

}  // namespace capstan
