#pragma once

// Every op that Capstan has, as one immutable catalog to hand to a Graph.
//
//   Graph g(standard_catalog());

#include "graph/catalog.h"

namespace capstan {

const Catalog& standard_catalog();

}  // namespace capstan
