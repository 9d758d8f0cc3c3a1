#include "kernel/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/gemm_float.cc"
#include "hwy/foreach_target.h"
#include "kernel/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

void run_sgemm(const GemmArgs<float>& args) { run_gemm(args); }

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

GemmFn<float> sgemm_piece(Isa isa) { return CAPSTAN_FOR_ISA(isa, run_sgemm); }

}  // namespace capstan
#endif
