#pragma once

// What the training layer of Python builds on: nodes that save, summarise and synchronise, and the
// files beside them.

#include <nanobind/nanobind.h>

namespace capstan {

namespace nb = nanobind;

// Saver, summary and sync-replica nodes.
void bind_train(nb::module_& m);
// Checkpoints, event files, meta graphs, the channel to the launcher.
void bind_train_files(nb::module_& m);

}  // namespace capstan
