#include "math/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/gemm_double.cc"
#include "hwy/foreach_target.h"
#include "math/gemm_dots-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

GemmFns<double> dgemm_fns() { return {kLanes<double>, run_gemm<double>, run_dots<double>}; }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

GemmFns<double> dgemm_functions(Isa isa) { return CAPSTAN_FOR_ISA(isa, dgemm_fns)(); }

}  // namespace capstan
#endif
