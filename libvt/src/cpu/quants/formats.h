// The decoders that dequantize.cpp chooses from; contract as DequantizeFn.
#pragma once

#include <cstdint>

namespace vt {

void DequantizeQ4_0(const void* blocks, float* out, std::int64_t n);
void DequantizeQ4_1(const void* blocks, float* out, std::int64_t n);
void DequantizeQ5_0(const void* blocks, float* out, std::int64_t n);
void DequantizeQ5_1(const void* blocks, float* out, std::int64_t n);
void DequantizeQ8_0(const void* blocks, float* out, std::int64_t n);
void DequantizeQ1_0(const void* blocks, float* out, std::int64_t n);
void DequantizeQ2_0(const void* blocks, float* out, std::int64_t n);
void DequantizeTq1_0(const void* blocks, float* out, std::int64_t n);
void DequantizeTq2_0(const void* blocks, float* out, std::int64_t n);
void DequantizeMxfp4(const void* blocks, float* out, std::int64_t n);
void DequantizeNvfp4(const void* blocks, float* out, std::int64_t n);
void DequantizeQ2K(const void* blocks, float* out, std::int64_t n);
void DequantizeQ3K(const void* blocks, float* out, std::int64_t n);
void DequantizeQ4K(const void* blocks, float* out, std::int64_t n);
void DequantizeQ5K(const void* blocks, float* out, std::int64_t n);
void DequantizeQ6K(const void* blocks, float* out, std::int64_t n);
void DequantizeIq1S(const void* blocks, float* out, std::int64_t n);
void DequantizeIq1M(const void* blocks, float* out, std::int64_t n);
void DequantizeIq2Xxs(const void* blocks, float* out, std::int64_t n);
void DequantizeIq2Xs(const void* blocks, float* out, std::int64_t n);
void DequantizeIq2S(const void* blocks, float* out, std::int64_t n);
void DequantizeIq3Xxs(const void* blocks, float* out, std::int64_t n);
void DequantizeIq3S(const void* blocks, float* out, std::int64_t n);
void DequantizeIq4Nl(const void* blocks, float* out, std::int64_t n);
void DequantizeIq4Xs(const void* blocks, float* out, std::int64_t n);

}  // namespace vt
