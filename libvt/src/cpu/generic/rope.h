// Bodies of RoPE and of the norm fused with it, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/norms.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// Plain loops: lanes do not meet, so the compiler's own vectors give the same bits.
inline void RotateHalf(float* __restrict x, const float* __restrict cosine,
                       const float* __restrict sine, std::int64_t pairs) {
  float* __restrict y = x + pairs;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const float a = x[i], b = y[i];
    x[i] = a * cosine[i] - b * sine[i];
    y[i] = a * sine[i] + b * cosine[i];
  }
}

inline void RotateInterleaved(float* __restrict x, const float* __restrict cosine,
                              const float* __restrict sine, std::int64_t pairs) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * cosine[i] - b * sine[i];
    x[2 * i + 1] = a * sine[i] + b * cosine[i];
  }
}

inline void Rotate(RopeLayout layout, float* x, const float* table, std::int64_t pairs) {
  if (layout == RopeLayout::kHalf) {
    RotateHalf(x, table, table + pairs, pairs);
  } else {
    RotateInterleaved(x, table, table + pairs, pairs);
  }
}

template <class V>
void Rope(const RopeArgs& args, Part part) {
  const Range items = Share(args.rows * args.heads, part);
  const std::int64_t stride = args.stride == 0 ? args.heads * args.head_dim : args.stride;
  for (std::int64_t item = items.begin; item < items.end; ++item) {
    const std::int64_t row = item / args.heads;
    Rotate(args.layout, args.x + row * stride + item % args.heads * args.head_dim,
           args.table + row * 2 * args.pairs, args.pairs);
  }
}

template <class V>
void FusedNormRope(const FusedNormRopeArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    float* x = args.x + r * (args.latent + 2 * args.pairs);
    RmsNormRow<V>(x, args.weight, x, args.latent, args.eps);
    Rotate(args.layout, x + args.latent, args.table + r * 2 * args.pairs, args.pairs);
  }
}

}  // namespace
}  // namespace vt
