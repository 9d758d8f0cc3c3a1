#pragma once

// tf.train.replica_device_setter's function: C++ for graphs of ours, callable for programs that
// wrap it.

#include <memory>
#include <string>

#include "build/device_setter.h"
#include "handles.h"

namespace capstan {

struct DeviceSetter {
  // Where a strategy written in Python finds the graph of the node that it is asked about.
  struct State {
    nb::handle graph;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  DeviceFunction function;

  std::string call(nb::handle operation);
};

void bind_builders(nb::module_& m);
void bind_files(nb::module_& m);

}  // namespace capstan
