#include "math/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/gemm_float.cc"
#include "hwy/foreach_target.h"
#include "math/gemm_dots-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

GemmFns<float> sgemm_fns() { return {kLanes<float>, run_gemm<float>, run_dots<float>}; }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

GemmFns<float> sgemm_functions(Isa isa) { return CAPSTAN_FOR_ISA(isa, sgemm_fns)(); }

}  // namespace capstan
#endif
