// Bodies of the norms, RoPE, cache writes and pointwise ops, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/elementwise.h"
#include "cpu/generic/vec_math.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// Calls fn(i, n) for i = 0, 16, ... below count, n the lanes left, at most 16. n is a constant in
// all calls but the last, so LoadN and StoreN cost nothing there.
template <class Fn>
VT_VEC_INLINE void ForVectors(std::int64_t count, Fn fn) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) fn(i, kLanes);
  if (i < count) fn(i, static_cast<int>(count - i));
}

template <class V>
VT_VEC_INLINE typename V::F LoadN(const float* p, int n) {
  return n == kLanes ? V::Load(p) : V::LoadPartial(p, n);
}
template <class V>
VT_VEC_INLINE void StoreN(float* p, typename V::F a, int n) {
  if (n == kLanes) {
    V::Store(p, a);
  } else {
    V::StorePartial(p, a, n);
  }
}

template <class V>
void RmsNorm(const RmsNormArgs& args, Part part) {
  using F = typename V::F;
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* x = args.x + r * args.cols;
    float* out = args.out + r * args.cols;
    F sum = V::Splat(0.0f);
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      const F v = LoadN<V>(x + i, n);
      sum = V::Fma(v, v, sum);
    });
    const float mean = V::ReduceAdd(sum) / static_cast<float>(args.cols);
    const F inverse = V::Splat(1.0f / __builtin_sqrtf(mean + args.eps));
    const float* weight = args.weight ? args.weight + r % args.weight_rows * args.cols : nullptr;
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      F v = V::Mul(LoadN<V>(x + i, n), inverse);
      if (weight) v = V::Mul(v, LoadN<V>(weight + i, n));
      StoreN<V>(out + i, v, n);
    });
  }
}

template <class V>
void LayerNorm(const LayerNormArgs& args, Part part) {
  using F = typename V::F;
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* x = args.x + r * args.cols;
    float* out = args.out + r * args.cols;
    const float count = static_cast<float>(args.cols);
    F sum = V::Splat(0.0f);
    ForVectors(args.cols, [&](std::int64_t i, int n) { sum = V::Add(sum, LoadN<V>(x + i, n)); });
    const F mean = V::Splat(V::ReduceAdd(sum) / count);
    F squares = V::Splat(0.0f);
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      F d = V::Sub(LoadN<V>(x + i, n), mean);
      if (n != kLanes) d = V::FirstLanes(d, n);
      squares = V::Fma(d, d, squares);
    });
    const float variance = V::ReduceAdd(squares) / count;
    const F inverse = V::Splat(1.0f / __builtin_sqrtf(variance + args.eps));
    const std::int64_t at = r % args.weight_rows * args.cols;
    const float* weight = args.weight ? args.weight + at : nullptr;
    const float* bias = args.bias ? args.bias + at : nullptr;
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      F v = V::Mul(V::Sub(LoadN<V>(x + i, n), mean), inverse);
      if (weight) v = V::Mul(v, LoadN<V>(weight + i, n));
      if (bias) v = V::Add(v, LoadN<V>(bias + i, n));
      StoreN<V>(out + i, v, n);
    });
  }
}

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

template <class V>
void Rope(const RopeArgs& args, Part part) {
  const Range items = Share(args.rows * args.heads, part);
  for (std::int64_t item = items.begin; item < items.end; ++item) {
    float* x = args.x + item * args.head_dim;
    const float* cosine = args.table + item / args.heads * 2 * args.pairs;
    const float* sine = cosine + args.pairs;
    if (args.layout == RopeLayout::kHalf) {
      RotateHalf(x, cosine, sine, args.pairs);
    } else {
      RotateInterleaved(x, cosine, sine, args.pairs);
    }
  }
}

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

template <class V>
void Activate(const ActivateArgs& args, Part part) {
  using F = typename V::F;
  const Range items = Share(args.count, part, kLanes);
  const float* gate = args.gate + items.begin;
  const float* up = args.up ? args.up + items.begin : nullptr;
  float* out = args.out + items.begin;
  const auto apply = [&](auto function) {
    ForVectors(items.end - items.begin, [&](std::int64_t i, int n) {
      F v = function(LoadN<V>(gate + i, n));
      if (up) v = V::Mul(v, LoadN<V>(up + i, n));
      StoreN<V>(out + i, v, n);
    });
  };
  switch (args.act) {
    case Activation::kSilu:
      return apply([](F x) { return Silu<V>(x); });
    case Activation::kGelu:
      return apply([](F x) { return Gelu<V>(x); });
  }
}

template <class V>
void AddScaled(const AddArgs& args, Part part) {
  const Range items = Share(args.count, part, kLanes);
  const typename V::F scale = V::Splat(args.scale);
  ForVectors(items.end - items.begin, [&](std::int64_t i, int n) {
    const std::int64_t at = items.begin + i;
    StoreN<V>(args.out + at, V::Fma(LoadN<V>(args.b + at, n), scale, LoadN<V>(args.a + at, n)), n);
  });
}

template <class V>
void ScaleCap(const ScaleCapArgs& args, Part part) {
  using F = typename V::F;
  const Range items = Share(args.count, part, kLanes);
  const F scale = V::Splat(args.scale), cap = V::Splat(args.cap);
  ForVectors(items.end - items.begin, [&](std::int64_t i, int n) {
    float* x = args.x + items.begin + i;
    F v = V::Mul(LoadN<V>(x, n), scale);
    if (args.cap != 0.0f) v = V::Mul(cap, Tanh<V>(V::Div(v, cap)));
    StoreN<V>(x, v, n);
  });
}

template <class V>
constexpr ElementwiseKernels MakeElementwiseKernels() {
  return {RmsNorm<V>, LayerNorm<V>, Rope<V>, KvStore<V>, Activate<V>, AddScaled<V>, ScaleCap<V>};
}

}  // namespace
}  // namespace vt
