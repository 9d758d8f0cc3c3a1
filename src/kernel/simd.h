// Highway's set-up for our three instruction sets (Isa). Include it before hwy/foreach_target.h; it
// has no include guard worth the name, being plain definitions.
#ifndef CAPSTAN_KERNEL_SIMD_H_
#define CAPSTAN_KERNEL_SIMD_H_

// x86-64-v2 does not promise AES, and nothing here needs it.
#define HWY_DISABLE_PCLMUL_AES
#include "hwy/detect_targets.h"

// The function of the instruction set `isa`, out of the namespaces that foreach_target makes. Sanitizer
// builds define HWY_COMPILE_ONLY_STATIC and have one.
#if HWY_TARGETS == HWY_STATIC_TARGET
#define CAPSTAN_FOR_ISA(isa, function) ((void)(isa), &N_SSE4::function)
#else
#define CAPSTAN_FOR_ISA(isa, function)                \
  ((isa) == Isa::kAvx512 ? &N_AVX3::function          \
   : (isa) == Isa::kAvx2 ? &N_AVX2::function \
                         : &N_SSE4::function)
#endif

#endif
