#include "vt/dtype.h"

namespace vt {
namespace {

constexpr DTypeInfo kTypes[] = {
    {DType::kF32, "f32", 1, 4},
    {DType::kF16, "f16", 1, 2},
    {DType::kQ4_0, "q4_0", 32, 18},
    {DType::kQ4_1, "q4_1", 32, 20},
    {DType::kQ5_0, "q5_0", 32, 22},
    {DType::kQ5_1, "q5_1", 32, 24},
    {DType::kQ8_0, "q8_0", 32, 34},
    {DType::kQ2_K, "q2_k", 256, 84},
    {DType::kQ3_K, "q3_k", 256, 110},
    {DType::kQ4_K, "q4_k", 256, 144},
    {DType::kQ5_K, "q5_k", 256, 176},
    {DType::kQ6_K, "q6_k", 256, 210},
    {DType::kIQ2_XXS, "iq2_xxs", 256, 66},
    {DType::kIQ2_XS, "iq2_xs", 256, 74},
    {DType::kIQ3_XXS, "iq3_xxs", 256, 98},
    {DType::kIQ1_S, "iq1_s", 256, 50},
    {DType::kIQ4_NL, "iq4_nl", 32, 18},
    {DType::kIQ3_S, "iq3_s", 256, 110},
    {DType::kIQ2_S, "iq2_s", 256, 82},
    {DType::kIQ4_XS, "iq4_xs", 256, 136},
    {DType::kI8, "i8", 1, 1},
    {DType::kI16, "i16", 1, 2},
    {DType::kI32, "i32", 1, 4},
    {DType::kI64, "i64", 1, 8},
    {DType::kF64, "f64", 1, 8},
    {DType::kIQ1_M, "iq1_m", 256, 56},
    {DType::kBF16, "bf16", 1, 2},
    {DType::kTQ1_0, "tq1_0", 256, 54},
    {DType::kTQ2_0, "tq2_0", 256, 66},
    {DType::kMXFP4, "mxfp4", 32, 17},
    {DType::kNVFP4, "nvfp4", 64, 36},
    {DType::kQ1_0, "q1_0", 128, 18},
    {DType::kQ2_0, "q2_0", 64, 18},
    {DType::kF8_E4M3, "f8_e4m3", 1, 1},
};

}  // namespace

std::span<const DTypeInfo> AllDTypes() { return kTypes; }

const DTypeInfo* FindDType(std::uint32_t id) {
  if (id >= kFirstOwnDType) return nullptr;
  for (const DTypeInfo& info : kTypes) {
    if (static_cast<std::uint32_t>(info.type) == id) return &info;
  }
  return nullptr;
}

const DTypeInfo* FindDType(std::string_view name) {
  for (const DTypeInfo& info : kTypes) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const DTypeInfo& InfoOf(DType type) {
  for (const DTypeInfo& info : kTypes) {
    if (info.type == type) return info;
  }
  return kTypes[0];  // not reached: every enumerator has a row
}

}  // namespace vt
