#pragma once

// A GraphDef as text (graph.pbtxt), as protobuf's own printer writes it: the lite runtime has none.

#include <string>
#include <string_view>

namespace capstan {

// `graph_def`: serialised. Attrs come sorted by name. Throws DataLoss when the bytes are no
// GraphDef.
std::string graph_text(std::string_view graph_def);

}  // namespace capstan
