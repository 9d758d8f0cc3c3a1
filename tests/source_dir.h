#pragma once

namespace capstan {

// The repository that a test was built from; tests/golden lies there.
const char* source_dir();

}  // namespace capstan
