// Which instructions this processor has and the operating system lets a process use.
//
// Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID (leaves 1
// and 7), and volume 1, chapter 13 (XCR0).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vt/device.h"

namespace vt {

// The CPUID words and the XCR0 register that features are read from; 0 where a leaf is absent.
struct CpuidWords {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;  // subleaf 1
  std::uint64_t xcr0 = 0;         // which registers the operating system saves
};

// This processor's; nothing when it is not an x86.
std::optional<CpuidWords> ReadCpuid();
// "AMD Ryzen 9 7950X"; empty when the processor does not say.
std::string ProcessorName();

// Whether this process may compute with AMX tiles, found out by asking and trying (amx_probe.h).
struct TileAccess {
  bool granted = false;
  std::string reason = "no trial tile product was run";  // why not
};

// Whether asking and trying makes sense: AMX-TILE and AMX-INT8 are there and their state is saved.
bool TilesWorthTrying(const CpuidWords& words);

// One fact per extension, always the same ones in the same order: avx2 avx512 avx512vnni avx512bf16
// avx512fp16 avxvnni amx_tile amx_int8 amx_bf16. A reason names the CPUID or XCR0 bits.
std::vector<FeatureFact> FeatureFactsOf(const std::optional<CpuidWords>& words,
                                        const TileAccess& tiles);

// The CpuFeature bits of what is usable; a wider set implies the narrower ones.
std::uint32_t FeaturesOf(const std::vector<FeatureFact>& facts);
std::uint32_t FeaturesOf(const CpuidWords& words, const TileAccess& tiles = {});

}  // namespace vt
