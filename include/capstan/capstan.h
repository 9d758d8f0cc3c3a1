#pragma once

// The whole C++ interface of Capstan: graphs and their gradients, optimizers, sessions, servers,
// supervised training, checkpoints and summaries.
//
//   capstan::Graph g(capstan::standard_catalog());
//   capstan::Session session(g);

#include "base/error.h"
#include "base/settings.h"
#include "base/task_channel.h"
#include "build/basics.h"
#include "build/composites.h"
#include "build/device_setter.h"
#include "build/moving_average.h"
#include "build/operators.h"
#include "build/optimizers.h"
#include "build/random.h"
#include "build/saver.h"
#include "build/summary.h"
#include "build/sync_replicas.h"
#include "build/variables.h"
#include "cluster/cluster_spec.h"
#include "cluster/server.h"
#include "cluster/tf_config.h"
#include "graph/gradients.h"
#include "graph/graph.h"
#include "graph/graph_def.h"
#include "io/bundle.h"
#include "io/checkpoint_state.h"
#include "io/event_writer.h"
#include "ops/catalog.h"
#include "session/master.h"
#include "session/session.h"
#include "tensor/tensor.h"
#include "train/hooks.h"
#include "train/monitored_session.h"
#include "train/saver.h"
