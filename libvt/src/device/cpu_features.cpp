#include "device/cpu_features.h"

#include <array>
#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace vt {
namespace {

constexpr std::uint32_t Bit(int n) { return 1u << n; }

struct CpuidBit {
  std::uint32_t CpuidWords::*word;
  int bit;
  std::string_view name;
};
constexpr CpuidBit kOsxsave = {&CpuidWords::leaf1_ecx, 27, "osxsave"};

struct Extension {
  std::string_view name;
  std::vector<CpuidBit> bits;
  std::vector<int> state;  // XCR0 bits
  std::string_view needs;  // an earlier extension
};

const std::vector<Extension>& Extensions() {
  constexpr auto k1c = &CpuidWords::leaf1_ecx;
  constexpr auto k7b = &CpuidWords::leaf7_ebx;
  constexpr auto k7c = &CpuidWords::leaf7_ecx;
  constexpr auto k7d = &CpuidWords::leaf7_edx;
  constexpr auto k71a = &CpuidWords::leaf7_1_eax;
  // XCR0: 1 and 2 are SSE and AVX, 5 to 7 the registers of AVX-512, 17 and 18 tile shape and data.
  static const std::vector<Extension> rows = {
      {"avx2",
       {{k1c, 12, "fma"}, {k1c, 28, "avx"}, {k1c, 29, "f16c"}, {k7b, 5, "avx2"}},
       {1, 2},
       ""},
      {"avx512",
       {{k7b, 16, "avx512f"}, {k7b, 17, "avx512dq"}, {k7b, 30, "avx512bw"}, {k7b, 31, "avx512vl"}},
       {5, 6, 7},
       "avx2"},
      {"avx512vnni", {{k7c, 11, "avx512_vnni"}}, {}, "avx512"},
      {"avx512bf16", {{k71a, 5, "avx512_bf16"}}, {}, "avx512"},
      {"avx512fp16", {{k7d, 23, "avx512_fp16"}}, {}, "avx512"},
      {"avxvnni", {{k71a, 4, "avx_vnni"}}, {}, "avx2"},
      {"amx_tile", {{k7d, 24, "amx_tile"}}, {17, 18}, ""},
      {"amx_int8", {{k7d, 25, "amx_int8"}}, {}, "amx_tile"},
      {"amx_bf16", {{k7d, 22, "amx_bf16"}}, {}, "amx_tile"},
  };
  return rows;
}

std::string_view PlaceOf(std::uint32_t CpuidWords::*word) {
  if (word == &CpuidWords::leaf1_ecx) return "leaf 1 ECX";
  if (word == &CpuidWords::leaf7_ebx) return "leaf 7 EBX";
  if (word == &CpuidWords::leaf7_ecx) return "leaf 7 ECX";
  if (word == &CpuidWords::leaf7_edx) return "leaf 7 EDX";
  return "leaf 7.1 EAX";
}

bool IsSet(const CpuidWords& words, const CpuidBit& bit) {
  return (words.*bit.word & Bit(bit.bit)) != 0;
}

std::string Describe(const CpuidBit& bit) {
  std::string text = "CPUID ";
  text.append(PlaceOf(bit.word)).append(" bit ").append(std::to_string(bit.bit));
  return text.append(" (").append(bit.name).append(")");
}

// "XCR0 bits 17 18 are 0: .."; empty when the system saves the whole state.
std::string WithheldState(const CpuidWords& words, const std::vector<int>& state) {
  if (state.empty()) return {};
  const std::string withheld = "the operating system does not save these registers";
  if (!IsSet(words, kOsxsave)) return Describe(kOsxsave) + " is 0: " + withheld;
  std::string bits;
  int count = 0;
  for (const int bit : state) {
    if (words.xcr0 >> bit & 1) continue;
    bits.append(" ").append(std::to_string(bit));
    ++count;
  }
  if (count == 0) return {};
  return (count == 1 ? "XCR0 bit" : "XCR0 bits") + bits + (count == 1 ? " is" : " are") +
         " 0: " + withheld;
}

FeatureFact FactOf(const Extension& row, const CpuidWords& words, const TileAccess& tiles,
                   const std::vector<FeatureFact>& earlier) {
  FeatureFact fact;
  fact.name = row.name;
  for (const CpuidBit& bit : row.bits) {
    if (IsSet(words, bit)) continue;
    fact.reason += (fact.reason.empty() ? "" : ", ") + Describe(bit);
  }
  if (!fact.reason.empty()) {
    fact.reason += " not set";
    return fact;
  }
  for (const FeatureFact& other : earlier) {
    if (other.name != row.needs || other.state == FeatureFact::State::kUsable) continue;
    fact.state = other.state;
    fact.reason = "needs " + other.name + ": " + other.reason;
    return fact;
  }
  fact.state = FeatureFact::State::kRefused;
  fact.reason = WithheldState(words, row.state);
  if (fact.reason.empty() && row.name == "amx_tile" && !tiles.granted) fact.reason = tiles.reason;
  if (fact.reason.empty()) fact.state = FeatureFact::State::kUsable;
  return fact;
}

}  // namespace

#if defined(__x86_64__)
std::optional<CpuidWords> ReadCpuid() {
  CpuidWords words;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return words;
  words.leaf1_ecx = ecx;
  if (IsSet(words, kOsxsave)) {  // xgetbv may be executed
    std::uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words.xcr0 = static_cast<std::uint64_t>(high) << 32 | low;
  }
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return words;
  words.leaf7_ebx = ebx;
  words.leaf7_ecx = ecx;
  words.leaf7_edx = edx;
  // EAX of subleaf 0 is the highest subleaf.
  if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) words.leaf7_1_eax = eax;
  return words;
}

// The 48 characters of CPUID leaves 0x80000002 to 0x80000004, with runs of spaces made one.
std::string ProcessorName() {
  std::array<unsigned, 12> words{};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* w = &words[4 * i];
    if (!__get_cpuid(0x80000002u + i, &w[0], &w[1], &w[2], &w[3])) return {};
  }
  std::array<char, 49> text{};
  std::memcpy(text.data(), words.data(), 48);
  std::string name;
  for (const char* c = text.data(); *c != '\0'; ++c) {
    if (*c == ' ' && (name.empty() || name.back() == ' ')) continue;
    name += *c;
  }
  if (name.ends_with(' ')) name.pop_back();
  return name;
}
#else
std::optional<CpuidWords> ReadCpuid() { return std::nullopt; }
std::string ProcessorName() { return {}; }
#endif

bool TilesWorthTrying(const CpuidWords& words) {
  return (words.leaf7_edx & Bit(24)) != 0 && (words.leaf7_edx & Bit(25)) != 0 &&
         WithheldState(words, {17, 18}).empty();
}

std::vector<FeatureFact> FeatureFactsOf(const std::optional<CpuidWords>& words,
                                        const TileAccess& tiles) {
  std::vector<FeatureFact> facts;
  for (const Extension& row : Extensions()) {
    if (words) {
      facts.push_back(FactOf(row, *words, tiles, facts));
    } else {
      facts.push_back({std::string(row.name), FeatureFact::State::kAbsent, "not an x86 processor"});
    }
  }
  return facts;
}

std::uint32_t FeaturesOf(const std::vector<FeatureFact>& facts) {
  const auto usable = [&](std::string_view name) {
    for (const FeatureFact& fact : facts) {
      if (fact.name == name) return fact.state == FeatureFact::State::kUsable;
    }
    return false;
  };
  std::uint32_t features = 0;
  if (usable("avx2")) features |= kFeatureAvx2;
  if (usable("avx512")) features |= kFeatureAvx512;
  if (usable("avx512vnni")) features |= kFeatureAvx512Vnni;
  if (usable("amx_int8")) features |= kFeatureAmxInt8;  // which needs amx_tile
  return features;
}

std::uint32_t FeaturesOf(const CpuidWords& words, const TileAccess& tiles) {
  return FeaturesOf(FeatureFactsOf(words, tiles));
}

}  // namespace vt
