// What each instruction set's folder provides for embed, quantize, dequant_fp8 and the
// matmuls: the same functions, with the same results to the bit.
//
// Order of additions, the same for every instruction set, share and number of rows:
// - f32 activations: the dot product of cpu/generic/vec16.h over the decoded weights; those of f8
//   are rounded to f32 after their scale.
// - q15 activations: a row is cut into groups of 32. The integer products of a group are summed
//   exactly, in whatever order; cpu/generic/q15_group.h says how a group's sum becomes the float t.
//   Group g adds to lane g % 8: lane = fma(t, activation scale, lane). Groups that would complete
//   the last eight count as t = 0 with scale 0. The lanes are folded by halves (lane i with lane
//   i + 4, then i + 2, i + 1).
// - Then bias is added, then what accumulate finds in out.
#pragma once

#include <cstdint>

#include "cpu/quants/dequantize.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {

// One thread's share of a matmul (rows of w, for all rows of x) or of an embed (rows of out).
struct MatmulShare {
  Range rows;
  std::int64_t row_bytes = 0;     // of w
  DequantizeFn decode = nullptr;  // of w's type
  // With f32 activations: floats from a row of x, and of out, to the next; 0 stands for the row
  // itself.
  std::int64_t x_stride = 0;
  std::int64_t out_stride = 0;
};

using EmbedFn = void (*)(const EmbedArgs&, const MatmulShare&);
using QuantizeGroupsFn = void (*)(const QuantizeArgs&, Range groups);
using DequantF8Fn = void (*)(const DequantFp8Args&, Range rows);
using MatmulFn = void (*)(const MatmulArgs&, const MatmulShare&);

void EmbedScalar(const EmbedArgs& args, const MatmulShare& share);
void EmbedAvx2(const EmbedArgs& args, const MatmulShare& share);
void EmbedAvx512(const EmbedArgs& args, const MatmulShare& share);

// `groups` counts groups of 32 values over all rows.
void QuantizeScalar(const QuantizeArgs& args, Range groups);
void QuantizeAvx2(const QuantizeArgs& args, Range groups);
void QuantizeAvx512(const QuantizeArgs& args, Range groups);

void DequantF8Scalar(const DequantFp8Args& args, Range rows);
void DequantF8Avx2(const DequantFp8Args& args, Range rows);
void DequantF8Avx512(const DequantFp8Args& args, Range rows);

// f32, f16, bf16, block formats, and f8_e4m3 with scales.
void MatmulF32Scalar(const MatmulArgs& args, const MatmulShare& share);
void MatmulF32Avx2(const MatmulArgs& args, const MatmulShare& share);
void MatmulF32Avx512(const MatmulArgs& args, const MatmulShare& share);

void MatmulQ15Scalar(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ15Avx2(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ15Avx512Vnni(const MatmulArgs& args, const MatmulShare& share);

}  // namespace vt
