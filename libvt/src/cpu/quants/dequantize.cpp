#include "cpu/quants/dequantize.h"

#include <cstring>

#include "cpu/generic/quant_bits.h"
#include "cpu/quants/formats.h"

namespace vt {
namespace {

void CopyF32(const void* blocks, float* out, std::int64_t n) {
  if (n > 0) std::memcpy(out, blocks, static_cast<std::size_t>(n) * sizeof(float));
}

void DecodeF16(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t i = 0; i < n; ++i) out[i] = LoadHalf(p + 2 * i);
}

void DecodeBf16(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = Bf16ToF32(LoadU16(p + 2 * i));
  }
}

void DecodeF8E4M3(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t i = 0; i < n; ++i) out[i] = F8E4M3ToF32(p[i]);
}

}  // namespace

DequantizeFn FindDequantize(DType type) {
  switch (type) {
    case DType::kF32:
      return CopyF32;
    case DType::kF16:
      return DecodeF16;
    case DType::kBF16:
      return DecodeBf16;
    case DType::kF8_E4M3:
      return DecodeF8E4M3;
    case DType::kQ4_0:
      return DequantizeQ4_0;
    case DType::kQ4_1:
      return DequantizeQ4_1;
    case DType::kQ5_0:
      return DequantizeQ5_0;
    case DType::kQ5_1:
      return DequantizeQ5_1;
    case DType::kQ8_0:
      return DequantizeQ8_0;
    case DType::kQ2_K:
      return DequantizeQ2K;
    case DType::kQ3_K:
      return DequantizeQ3K;
    case DType::kQ4_K:
      return DequantizeQ4K;
    case DType::kQ5_K:
      return DequantizeQ5K;
    case DType::kQ6_K:
      return DequantizeQ6K;
    case DType::kIQ2_XXS:
      return DequantizeIq2Xxs;
    case DType::kIQ2_XS:
      return DequantizeIq2Xs;
    case DType::kIQ2_S:
      return DequantizeIq2S;
    case DType::kIQ3_XXS:
      return DequantizeIq3Xxs;
    case DType::kIQ3_S:
      return DequantizeIq3S;
    case DType::kIQ1_S:
      return DequantizeIq1S;
    case DType::kIQ1_M:
      return DequantizeIq1M;
    case DType::kIQ4_NL:
      return DequantizeIq4Nl;
    case DType::kIQ4_XS:
      return DequantizeIq4Xs;
    case DType::kTQ1_0:
      return DequantizeTq1_0;
    case DType::kTQ2_0:
      return DequantizeTq2_0;
    case DType::kMXFP4:
      return DequantizeMxfp4;
    case DType::kNVFP4:
      return DequantizeNvfp4;
    case DType::kQ1_0:
      return DequantizeQ1_0;
    case DType::kQ2_0:
      return DequantizeQ2_0;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kF64:
      return nullptr;
  }
  return nullptr;
}

void DequantizeRow(DType type, const void* blocks, float* out, std::int64_t n) {
  FindDequantize(type)(blocks, out, n);
}

}  // namespace vt
