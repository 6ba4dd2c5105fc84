// Body of the cache writes, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/elementwise.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// One q8_0 block of 32 values (gguf specification): the scale as f16, then 32 bytes. As the
// format's reference, scale = max |x| / 127 and values round(x * (1 / scale)), halves away from 0.
// An infinity or NaN among the values makes the scale a NaN, so the loss shows.
template <class V>
VT_VEC_INLINE void StoreQ8Block(const float* x, std::uint8_t* block) {
  using F = typename V::F;
  const F a = V::Load(x), b = V::Load(x + kLanes);
  const float amax = V::ReduceMax(V::Max(V::Abs(a), V::Abs(b)));
  const F zero = V::Splat(0.0f);
  const float not_finite = V::ReduceAdd(V::Add(V::Mul(a, zero), V::Mul(b, zero)));  // 0 or NaN
  const float scale = amax / 127.0f + not_finite;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  const std::uint16_t half = F32ToF16(scale);
  block[0] = static_cast<std::uint8_t>(half & 0xff);
  block[1] = static_cast<std::uint8_t>(half >> 8);
  std::int8_t* values = reinterpret_cast<std::int8_t*>(block + 2);
  for (const F v : {a, b}) {
    const F s = V::Mul(v, V::Splat(inverse));
    // The float below a half, not a half: 0.49999997 must not reach 1.
    const F rounded = V::Trunc(V::Add(s, V::CopySign(V::Splat(0x1.fffffep-2f), s)));
    V::StoreI8(values, V::Min(V::Max(rounded, V::Splat(-127.0f)), V::Splat(127.0f)));
    values += kLanes;
  }
}

template <class V>
void KvStore(const KvStoreArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* x = args.x + r * args.cols;
    std::uint8_t* cell =
        static_cast<std::uint8_t*>(args.cells.data) + args.slots[r] * args.cells.cell_bytes;
    std::uint16_t* halves = reinterpret_cast<std::uint16_t*>(cell);
    switch (args.cells.type) {
      case DType::kF32:
        ForVectors(args.cols, [&](std::int64_t i, int n) {
          StoreN<V>(reinterpret_cast<float*>(cell) + i, LoadN<V>(x + i, n), n);
        });
        break;
      case DType::kF16:
        ForVectors(args.cols, [&](std::int64_t i, int n) {
          if (n == kLanes) {
            V::StoreF16(halves + i, V::Load(x + i));
          } else {
            V::StoreF16Partial(halves + i, V::LoadPartial(x + i, n), n);
          }
        });
        break;
      case DType::kBF16:
        ForVectors(args.cols, [&](std::int64_t i, int n) {
          if (n == kLanes) {
            V::StoreBf16(halves + i, V::Load(x + i));
          } else {
            V::StoreBf16Partial(halves + i, V::LoadPartial(x + i, n), n);
          }
        });
        break;
      default:  // q8_0
        for (std::int64_t i = 0; i < args.cols; i += 32) {
          StoreQ8Block<V>(x + i, cell + i / 32 * kQ8BlockBytes);
        }
    }
  }
}

}  // namespace
}  // namespace vt
