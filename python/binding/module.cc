// The extension `capstan._capstan`: conversions only.

#include "build.h"
#include "cluster.h"
#include "device_setter.h"
#include "gil.h"
#include "handles.h"
#include "train.h"

NB_MODULE(_capstan, m) {
  // The default graph lives until the interpreter ends: no leak, no message.
  nanobind::set_leak_warnings(false);
  capstan::bind_gil(m);
  capstan::bind_errors(m);
  capstan::bind_elements(m);
  capstan::bind_graph(m);
  capstan::bind_catalog(m);
  capstan::bind_settings(m);
  capstan::bind_build(m);
  capstan::bind_composites(m);
  capstan::bind_optimizers(m);
  capstan::bind_builders(m);
  capstan::bind_files(m);
  capstan::bind_cluster(m);
  capstan::bind_session(m);
  capstan::bind_train(m);
}
