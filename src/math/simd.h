// Highway's set-up for our three instruction sets (Isa). Include it before hwy/foreach_target.h.
#pragma once

// x86-64-v2 does not promise AES, and nothing here needs it.
#define HWY_DISABLE_PCLMUL_AES
#include "hwy/detect_targets.h"

// CAPSTAN_FOR_ISA(isa, function): the function of the instruction set `isa`, out of the namespaces
// that foreach_target makes. CAPSTAN_BLOCK(types, Op): for a row's `block`: types<Op>(type), as in
// number_2<Add>, of the instruction set. Builds with HWY_COMPILE_ONLY_STATIC (sanitizers) have one.
#if HWY_TARGETS == HWY_STATIC_TARGET
#define CAPSTAN_FOR_ISA(isa, function) ((void)(isa), &N_SSE4::function)
#define CAPSTAN_BLOCK(types, Op) \
  [](DType type, Isa) -> BlockFn { return N_SSE4::types<N_SSE4::Op>(type); }
#else
#define CAPSTAN_FOR_ISA(isa, function)       \
  ((isa) == Isa::kAvx512 ? &N_AVX3::function \
   : (isa) == Isa::kAvx2 ? &N_AVX2::function \
                         : &N_SSE4::function)
#define CAPSTAN_BLOCK(types, Op)                                     \
  [](DType type, Isa isa) -> BlockFn {                               \
    if (isa == Isa::kAvx512) return N_AVX3::types<N_AVX3::Op>(type); \
    if (isa == Isa::kAvx2) return N_AVX2::types<N_AVX2::Op>(type);   \
    return N_SSE4::types<N_SSE4::Op>(type);                          \
  }
#endif
