// Bytes that nobody wrote are not to pass for zeros in these tests.

#include <malloc.h>

namespace {

[[maybe_unused]] const int kPerturbed = mallopt(M_PERTURB, 0x5a);

}  // namespace
