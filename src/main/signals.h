#pragma once

#include "base/fd.h"

namespace capstan::cli {

// SIGINT, SIGTERM and SIGHUP are read from it from here on, not delivered; SIGPIPE is ignored. To
// be called before there are threads.
Fd signals_as_fd();

}  // namespace capstan::cli
