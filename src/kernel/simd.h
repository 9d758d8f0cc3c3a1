// Highway's set-up for our three instruction sets (Isa). Include it before hwy/foreach_target.h.
#pragma once

// x86-64-v2 does not promise AES, and nothing here needs it.
#define HWY_DISABLE_PCLMUL_AES
#include "hwy/detect_targets.h"

// The function of the instruction set `isa`, out of the namespaces that foreach_target makes.
// Builds with HWY_COMPILE_ONLY_STATIC (sanitizers) have one.
#if HWY_TARGETS == HWY_STATIC_TARGET
#define CAPSTAN_FOR_ISA(isa, function) ((void)(isa), &N_SSE4::function)
#else
#define CAPSTAN_FOR_ISA(isa, function)       \
  ((isa) == Isa::kAvx512 ? &N_AVX3::function \
   : (isa) == Isa::kAvx2 ? &N_AVX2::function \
                         : &N_SSE4::function)
#endif
