#pragma once

// The part of a graph that saves and restores variables, as tf.train.Saver adds it, and what a
// SaverDef says of it.

#include <map>
#include <string>
#include <vector>

#include "build/variables.h"

namespace capstan {

struct SaverOptions {
  bool sharded = false;  // one SaveV2 per task that holds variables
  bool reshape =
      false;  // what is restored takes the shape of its variable, if it has as many items
  std::string name = "save";
};

struct SaverNodes {
  Output filename;  // fed with the prefix
  Output save;      // its value is the prefix that was written
  Node* restore = nullptr;
};

// `variables`: by the name under which each is saved.
SaverNodes make_saver(Graph& graph, const std::map<std::string, VariableRef>& variables,
                      const SaverOptions& options = {});

}  // namespace capstan
