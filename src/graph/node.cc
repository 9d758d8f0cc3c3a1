#include "graph/node.h"

namespace capstan {

std::string Output::name() const { return fmt::format("{}:{}", node->name(), index); }

}  // namespace capstan
