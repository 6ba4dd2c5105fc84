// How a CPU kernel becomes a row of the op table.
#pragma once

#include <cstdint>

#include "ops/registry.h"

namespace vt {

// What a row says beside its op and functions.
struct CpuRow {
  const char* name;
  Tier tier;
  int priority;
  std::uint32_t needs;
};
inline constexpr CpuRow kScalarF32Row = {"cpu.scalar.f32", Tier::kReference, 0, 0};
inline constexpr CpuRow kAvx2F32Row = {"cpu.avx2.f32", Tier::kNative, 10, kFeatureAvx2};
inline constexpr CpuRow kAvx512F32Row = {"cpu.avx512.f32", Tier::kNative, 20, kFeatureAvx512};
inline constexpr CpuRow kScalarQ15Row = {"cpu.scalar.q15", Tier::kReference, 0, 0};
inline constexpr CpuRow kAvx2Q15Row = {"cpu.avx2.q15", Tier::kNative, 10, kFeatureAvx2};
inline constexpr CpuRow kAvx512Q15Row = {"cpu.avx512.q15", Tier::kNative, 20, kFeatureAvx512};
inline constexpr CpuRow kAvx512VnniQ15Row = {"cpu.avx512vnni.q15", Tier::kNative, 30,
                                             kFeatureAvx512Vnni};

template <class Args>
void AddRow(Registry& registry, const CpuRow& row, Support (*supports)(const Args&),
            void (*run)(const Args&, Part), int (*max_parts)(const Args&)) {
  registry.Add(Kernel<Args>{.name = row.name,
                            .tier = row.tier,
                            .priority = row.priority,
                            .needs = row.needs,
                            .supports = supports,
                            .run = run,
                            .max_parts = max_parts});
}

}  // namespace vt
