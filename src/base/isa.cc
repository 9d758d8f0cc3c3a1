#include "base/isa.h"

#include <cpuid.h>

#include "base/error.h"

namespace capstan {
namespace {

// Not every compiler's __builtin_cpu_supports knows it.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

// What Highway's targets of the same names may use: all of it must be there.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

}  // namespace

Isa best_isa() {
  static const Isa isa = has_avx512() ? Isa::kAvx512 : has_avx2() ? Isa::kAvx2 : Isa::kBase;
  return isa;
}

Isa isa_from(std::string_view name) {
  if (name.empty()) return best_isa();
  constexpr std::string_view kNames[] = {"base", "avx2", "avx512"};
  for (Isa isa : machine_isas()) {
    if (kNames[size_t(isa)] == name) return isa;
  }
  throw invalid_argument(
      "instruction set \"{}\" is not one that this machine has (base, avx2, avx512)", name);
}

std::vector<Isa> machine_isas() {
  std::vector<Isa> isas = {Isa::kBase};
  if (best_isa() >= Isa::kAvx2) isas.push_back(Isa::kAvx2);
  if (best_isa() >= Isa::kAvx512) isas.push_back(Isa::kAvx512);
  return isas;
}

}  // namespace capstan
