// Which instruction sets count as usable, from made-up registers.
#include "device/cpu_features.h"

#include <gtest/gtest.h>

#include "vt/device.h"

namespace vt {
namespace {

using State = FeatureFact::State;

constexpr std::uint32_t Bit(int n) { return 1u << n; }
constexpr std::uint32_t kAvx = kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni;
const TileAccess kGranted = {true, ""};

// A processor with everything, under a system that saves every register.
CpuidWords FullMachine() {
  return {.leaf1_ecx = Bit(12) | Bit(27) | Bit(28) | Bit(29),
          .leaf7_ebx = Bit(5) | Bit(16) | Bit(17) | Bit(30) | Bit(31),
          .leaf7_ecx = Bit(11),
          .leaf7_edx = Bit(22) | Bit(23) | Bit(24) | Bit(25),
          .leaf7_1_eax = Bit(4) | Bit(5),
          .xcr0 = 0x600e7};
}

FeatureFact Fact(const CpuidWords& words, const TileAccess& tiles, std::string_view name) {
  for (const FeatureFact& fact : FeatureFactsOf(words, tiles)) {
    if (fact.name == name) return fact;
  }
  ADD_FAILURE() << "no fact " << name;
  return {};
}

TEST(FeaturesTest, NeedInstructionsAndSavedRegisters) {
  EXPECT_EQ(FeaturesOf(FullMachine()), kAvx);  // without asking for tiles
  EXPECT_EQ(FeaturesOf(FullMachine(), kGranted), kAvx | kFeatureAmxInt8);
  EXPECT_EQ(FeaturesOf(CpuidWords{}), 0u);
  EXPECT_EQ(FeaturesOf(CpuidWords{}, kGranted), 0u);
  for (int bit : {12, 27, 28, 29}) {  // FMA, OSXSAVE, AVX, F16C
    CpuidWords words = FullMachine();
    words.leaf1_ecx &= ~Bit(bit);
    EXPECT_EQ(FeaturesOf(words), 0u) << bit;
  }
  for (int bit : {16, 17, 30, 31}) {  // F, DQ, BW, VL
    CpuidWords words = FullMachine();
    words.leaf7_ebx &= ~Bit(bit);
    EXPECT_EQ(FeaturesOf(words), kFeatureAvx2) << bit;
  }
  CpuidWords words = FullMachine();
  words.leaf7_ecx = 0;
  EXPECT_EQ(FeaturesOf(words), kFeatureAvx2 | kFeatureAvx512);
  words = FullMachine();
  words.leaf7_ebx &= ~Bit(5);
  EXPECT_EQ(FeaturesOf(words), 0u);
  words = FullMachine();
  words.xcr0 = 0x7;  // the system saves AVX registers, not those of AVX-512
  EXPECT_EQ(FeaturesOf(words), kFeatureAvx2);
  words.xcr0 = 0x3;  // SSE alone
  EXPECT_EQ(FeaturesOf(words), 0u);
}

TEST(FeaturesTest, AFactForEachExtensionInOneOrder) {
  std::vector<std::string> names;
  for (const FeatureFact& fact : FeatureFactsOf(FullMachine(), kGranted)) {
    names.push_back(fact.name);
    EXPECT_EQ(fact.state, State::kUsable) << fact.name;
    EXPECT_EQ(fact.reason, "") << fact.name;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"avx2", "avx512", "avx512vnni", "avx512bf16", "avx512fp16",
                                      "avxvnni", "amx_tile", "amx_int8", "amx_bf16"}));
}

struct Missing {
  std::uint32_t CpuidWords::*word;
  int bit;
  std::string_view fact;
  std::string_view reason;
};

// Each bit alone takes its fact away, by name, and it is the processor that lacks it.
TEST(FeaturesTest, AbsentNamesTheBit) {
  const Missing cases[] = {
      {&CpuidWords::leaf1_ecx, 12, "avx2", "CPUID leaf 1 ECX bit 12 (fma) not set"},
      {&CpuidWords::leaf1_ecx, 28, "avx2", "CPUID leaf 1 ECX bit 28 (avx) not set"},
      {&CpuidWords::leaf1_ecx, 29, "avx2", "CPUID leaf 1 ECX bit 29 (f16c) not set"},
      {&CpuidWords::leaf7_ebx, 5, "avx2", "CPUID leaf 7 EBX bit 5 (avx2) not set"},
      {&CpuidWords::leaf7_ebx, 16, "avx512", "CPUID leaf 7 EBX bit 16 (avx512f) not set"},
      {&CpuidWords::leaf7_ebx, 17, "avx512", "CPUID leaf 7 EBX bit 17 (avx512dq) not set"},
      {&CpuidWords::leaf7_ebx, 30, "avx512", "CPUID leaf 7 EBX bit 30 (avx512bw) not set"},
      {&CpuidWords::leaf7_ebx, 31, "avx512", "CPUID leaf 7 EBX bit 31 (avx512vl) not set"},
      {&CpuidWords::leaf7_ecx, 11, "avx512vnni", "CPUID leaf 7 ECX bit 11 (avx512_vnni) not set"},
      {&CpuidWords::leaf7_1_eax, 5, "avx512bf16", "CPUID leaf 7.1 EAX bit 5 (avx512_bf16) not set"},
      {&CpuidWords::leaf7_edx, 23, "avx512fp16", "CPUID leaf 7 EDX bit 23 (avx512_fp16) not set"},
      {&CpuidWords::leaf7_1_eax, 4, "avxvnni", "CPUID leaf 7.1 EAX bit 4 (avx_vnni) not set"},
      {&CpuidWords::leaf7_edx, 24, "amx_tile", "CPUID leaf 7 EDX bit 24 (amx_tile) not set"},
      {&CpuidWords::leaf7_edx, 25, "amx_int8", "CPUID leaf 7 EDX bit 25 (amx_int8) not set"},
      {&CpuidWords::leaf7_edx, 22, "amx_bf16", "CPUID leaf 7 EDX bit 22 (amx_bf16) not set"},
  };
  for (const Missing& row : cases) {
    CpuidWords words = FullMachine();
    words.*row.word &= ~Bit(row.bit);
    const FeatureFact fact = Fact(words, kGranted, row.fact);
    EXPECT_EQ(fact.state, State::kAbsent) << row.reason;
    EXPECT_EQ(fact.reason, row.reason);
  }
  CpuidWords words = FullMachine();
  words.leaf7_ebx = Bit(5);
  EXPECT_EQ(Fact(words, kGranted, "avx512").reason,
            "CPUID leaf 7 EBX bit 16 (avx512f), CPUID leaf 7 EBX bit 17 (avx512dq), "
            "CPUID leaf 7 EBX bit 30 (avx512bw), CPUID leaf 7 EBX bit 31 (avx512vl) not set");
  // What stands on it falls with it.
  const FeatureFact vnni = Fact(words, kGranted, "avx512vnni");
  EXPECT_EQ(vnni.state, State::kAbsent);
  EXPECT_TRUE(vnni.reason.starts_with("needs avx512: CPUID leaf 7 EBX bit 16")) << vnni.reason;
}

TEST(FeaturesTest, RefusedNamesTheRegistersThatAreNotSaved) {
  struct Case {
    std::uint64_t cleared;  // of XCR0
    std::string_view fact;
    std::string_view reason;
  };
  const Case cases[] = {
      {0x2, "avx2", "XCR0 bit 1 is 0: the operating system does not save these registers"},
      {0x6, "avx2", "XCR0 bits 1 2 are 0: the operating system does not save these registers"},
      {0x20, "avx512", "XCR0 bit 5 is 0: the operating system does not save these registers"},
      {0xe0, "avx512", "XCR0 bits 5 6 7 are 0: the operating system does not save these registers"},
      {0xe0, "avx512vnni",
       "needs avx512: XCR0 bits 5 6 7 are 0: the operating system does not save these registers"},
      {0x20000, "amx_tile", "XCR0 bit 17 is 0: the operating system does not save these registers"},
      {0x40000, "amx_tile", "XCR0 bit 18 is 0: the operating system does not save these registers"},
      {0x60000, "amx_int8",
       "needs amx_tile: XCR0 bits 17 18 are 0: the operating system does not save these registers"},
  };
  for (const Case& row : cases) {
    CpuidWords words = FullMachine();
    words.xcr0 &= ~row.cleared;
    const FeatureFact fact = Fact(words, kGranted, row.fact);
    EXPECT_EQ(fact.state, State::kRefused) << row.reason;
    EXPECT_EQ(fact.reason, row.reason);
  }
  CpuidWords words = FullMachine();
  words.leaf1_ecx &= ~Bit(27);
  EXPECT_EQ(Fact(words, kGranted, "avx2").state, State::kRefused);
  EXPECT_EQ(Fact(words, kGranted, "avx2").reason,
            "CPUID leaf 1 ECX bit 27 (osxsave) is 0: the operating system does not save these "
            "registers");
}

TEST(FeaturesTest, TilesNeedTheTrial) {
  const TileAccess failed = {false, "the trial tile product ended with signal 4"};
  const FeatureFact tile = Fact(FullMachine(), failed, "amx_tile");
  EXPECT_EQ(tile.state, State::kRefused);
  EXPECT_EQ(tile.reason, "the trial tile product ended with signal 4");
  for (const char* name : {"amx_int8", "amx_bf16"}) {
    EXPECT_EQ(Fact(FullMachine(), failed, name).state, State::kRefused);
    EXPECT_EQ(Fact(FullMachine(), failed, name).reason,
              "needs amx_tile: the trial tile product ended with signal 4");
  }
  EXPECT_EQ(FeaturesOf(FullMachine(), failed), kAvx);
  // Tiles alone are no product of bytes.
  CpuidWords words = FullMachine();
  words.leaf7_edx &= ~Bit(25);
  EXPECT_EQ(FeaturesOf(words, kGranted), kAvx);
}

TEST(FeaturesTest, TilesAreTriedOnlyWhereTheyMayExist) {
  EXPECT_TRUE(TilesWorthTrying(FullMachine()));
  EXPECT_FALSE(TilesWorthTrying({}));
  for (int bit : {24, 25}) {
    CpuidWords words = FullMachine();
    words.leaf7_edx &= ~Bit(bit);
    EXPECT_FALSE(TilesWorthTrying(words)) << bit;
  }
  for (int bit : {17, 18}) {
    CpuidWords words = FullMachine();
    words.xcr0 &= ~(std::uint64_t{1} << bit);
    EXPECT_FALSE(TilesWorthTrying(words)) << bit;
  }
  CpuidWords words = FullMachine();
  words.leaf1_ecx &= ~Bit(27);
  EXPECT_FALSE(TilesWorthTrying(words));
}

TEST(FeaturesTest, OtherProcessorsHaveNone) {
  const std::vector<FeatureFact> facts = FeatureFactsOf(std::nullopt, {});
  EXPECT_EQ(facts.size(), 9u);
  for (const FeatureFact& fact : facts) {
    EXPECT_EQ(fact.state, State::kAbsent) << fact.name;
    EXPECT_EQ(fact.reason, "not an x86 processor");
  }
  EXPECT_EQ(FeaturesOf(facts), 0u);
}

}  // namespace
}  // namespace vt
