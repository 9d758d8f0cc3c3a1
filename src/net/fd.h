#pragma once

// A file descriptor with one owner: base/fd.h.

#include "base/fd.h"
