#include "base/version.h"

namespace capstan {

std::string_view version() { return CAPSTAN_VERSION; }

}  // namespace capstan
