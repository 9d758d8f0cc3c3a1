#include "source_dir.h"

namespace capstan {

const char* source_dir() { return CAPSTAN_SOURCE_DIR; }

}  // namespace capstan
