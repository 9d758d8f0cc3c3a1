#pragma once

// tf.train.replica_device_setter: variables to the parameter servers, one after the other; all else
// to the worker.

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace capstan {

struct DeviceSetterOptions {
  int ps_tasks = 0;
  std::string ps_device = "/job:ps";
  std::string worker_device = "/job:worker";
  bool merge_devices = true;
  // Op types that go to the parameter servers; empty: TensorFlow's list.
  std::vector<std::string> ps_ops;
  // Which server the next such node goes to; empty: one after the other.
  std::function<int(const Node&)> strategy;
};

// To be used with Graph::device(). Each copy of the function shares its turn.
DeviceFunction replica_device_setter(DeviceSetterOptions options);

}  // namespace capstan
