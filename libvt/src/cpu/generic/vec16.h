// The 16-lane float vector that every CPU kernel is written over, and its plain-code version.
//
// A trait V has types F (16 floats), I (16 x 32-bit integers) and the static functions of
// ScalarVec16 below. Kernel bodies are templates over V; each instruction set instantiates them
// with its own V, and all give the same bits:
// - Add, Sub, Mul, Div and Fma round once, as IEEE 754 says; denormals are kept, never flushed.
//   Only a NaN's sign and payload may differ.
// - Max(a, b) is a > b ? a : b and Min(a, b) is a < b ? a : b, so a NaN on either side gives b.
// - ReduceAdd and ReduceMax fold halves: lane i with lane i + 8, then i + 4, i + 2, i + 1.
// - A dot product of length n sums element k in lane k % 16 with Fma, in order of k, the tail
// padded
//   with zeros, and ends in ReduceAdd.
// Counts n of the Partial functions lie in [0, 16]; lanes from n on load as 0 and are not stored.
// Nothing needs alignment.
//
// Everything is in unnamed namespaces and always inlined: code compiled for one instruction set
// must not be the copy that the linker keeps for another.
#pragma once

#include <cstdint>

#include "cpu/generic/half.h"

#define VT_VEC_INLINE [[gnu::always_inline]] static inline

namespace vt {
namespace {

inline constexpr int kLanes = 16;

struct ScalarVec16 {
  struct F {
    float lane[kLanes];
  };
  struct I {
    std::uint32_t lane[kLanes];
  };
  // The most vectors a kernel should hold at once, in accumulators.
  static constexpr int kAccumulators = 4;

  VT_VEC_INLINE F Splat(float x) {
    return Each([&](int) { return x; });
  }
  VT_VEC_INLINE F Load(const float* p) {
    return Each([&](int i) { return p[i]; });
  }
  VT_VEC_INLINE F LoadPartial(const float* p, int n) {
    return Each([&](int i) { return i < n ? p[i] : 0.0f; });
  }
  VT_VEC_INLINE void Store(float* p, F a) { StorePartial(p, a, kLanes); }
  VT_VEC_INLINE void StorePartial(float* p, F a, int n) {
    for (int i = 0; i < n; ++i) p[i] = a.lane[i];
  }

  // Half-precision memory.
  VT_VEC_INLINE float HalfToFloat(std::uint16_t h) { return F16ToF32(h); }
  VT_VEC_INLINE F LoadF16(const std::uint16_t* p) { return LoadF16Partial(p, kLanes); }
  VT_VEC_INLINE F LoadF16Partial(const std::uint16_t* p, int n) {
    return Each([&](int i) { return i < n ? F16ToF32(p[i]) : 0.0f; });
  }
  VT_VEC_INLINE void StoreF16(std::uint16_t* p, F a) { StoreF16Partial(p, a, kLanes); }
  VT_VEC_INLINE void StoreF16Partial(std::uint16_t* p, F a, int n) {
    for (int i = 0; i < n; ++i) p[i] = F32ToF16(a.lane[i]);
  }
  VT_VEC_INLINE F LoadBf16(const std::uint16_t* p) { return LoadBf16Partial(p, kLanes); }
  VT_VEC_INLINE F LoadBf16Partial(const std::uint16_t* p, int n) {
    return Each([&](int i) { return i < n ? Bf16ToF32(p[i]) : 0.0f; });
  }
  VT_VEC_INLINE void StoreBf16(std::uint16_t* p, F a) { StoreBf16Partial(p, a, kLanes); }
  VT_VEC_INLINE void StoreBf16Partial(std::uint16_t* p, F a, int n) {
    for (int i = 0; i < n; ++i) p[i] = F32ToBf16(a.lane[i]);
  }

  // OCP E4M3 bytes.
  VT_VEC_INLINE F LoadF8(const std::uint8_t* p) { return LoadF8Partial(p, kLanes); }
  VT_VEC_INLINE F LoadF8Partial(const std::uint8_t* p, int n) {
    return Each([&](int i) { return i < n ? F8E4M3ToF32(p[i]) : 0.0f; });
  }

  // 8-bit integers. StoreI8 takes whole numbers in [-128, 127].
  VT_VEC_INLINE F LoadI8(const std::int8_t* p) {
    return Each([&](int i) { return static_cast<float>(p[i]); });
  }
  VT_VEC_INLINE void StoreI8(std::int8_t* p, F a) {
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<std::int8_t>(a.lane[i]);
  }

  VT_VEC_INLINE F Add(F a, F b) {
    return Each([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  VT_VEC_INLINE F Sub(F a, F b) {
    return Each([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  VT_VEC_INLINE F Mul(F a, F b) {
    return Each([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  VT_VEC_INLINE F Div(F a, F b) {
    return Each([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  // a * b + c
  VT_VEC_INLINE F Fma(F a, F b, F c) {
    return Each([&](int i) { return __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]); });
  }
  VT_VEC_INLINE F Max(F a, F b) {
    return Each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  VT_VEC_INLINE F Min(F a, F b) {
    return Each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  VT_VEC_INLINE F Abs(F a) {
    return Each([&](int i) { return FloatFromBits(BitsOfFloat(a.lane[i]) & 0x7fffffffu); });
  }
  // |a| with the sign of s.
  VT_VEC_INLINE F CopySign(F a, F s) {
    return Each([&](int i) {
      return FloatFromBits((BitsOfFloat(a.lane[i]) & 0x7fffffffu) |
                           (BitsOfFloat(s.lane[i]) & 0x80000000u));
    });
  }
  VT_VEC_INLINE F Trunc(F a) {
    return Each([&](int i) { return __builtin_truncf(a.lane[i]); });
  }
  VT_VEC_INLINE F RoundEven(F a) {
    return Each([&](int i) { return __builtin_rintf(a.lane[i]); });
  }
  // a with 0 in the lanes from n on.
  VT_VEC_INLINE F FirstLanes(F a, int n) {
    return Each([&](int i) { return i < n ? a.lane[i] : 0.0f; });
  }

  VT_VEC_INLINE float ReduceAdd(F a) {
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) a.lane[i] = a.lane[i] + a.lane[i + half];
    }
    return a.lane[0];
  }
  VT_VEC_INLINE float ReduceMax(F a) {
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) {
        a.lane[i] = a.lane[i] > a.lane[i + half] ? a.lane[i] : a.lane[i + half];
      }
    }
    return a.lane[0];
  }
  // out[0..3] = ReduceAdd of a, b, c, d, for the price of about two.
  VT_VEC_INLINE void ReduceAdd4(F a, F b, F c, F d, float* out) {
    out[0] = ReduceAdd(a);
    out[1] = ReduceAdd(b);
    out[2] = ReduceAdd(c);
    out[3] = ReduceAdd(d);
  }

  // The bits of each lane as integers, which wrap around.
  VT_VEC_INLINE I SplatI(std::uint32_t x) {
    return EachI([&](int) { return x; });
  }
  VT_VEC_INLINE I Bits(F a) {
    return EachI([&](int i) { return BitsOfFloat(a.lane[i]); });
  }
  VT_VEC_INLINE F FromBits(I a) {
    return Each([&](int i) { return FloatFromBits(a.lane[i]); });
  }
  VT_VEC_INLINE I AddI(I a, I b) {
    return EachI([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  VT_VEC_INLINE I SubI(I a, I b) {
    return EachI([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  template <int kCount>
  VT_VEC_INLINE I ShiftLeft(I a) {
    return EachI([&](int i) { return a.lane[i] << kCount; });
  }
  template <int kCount>
  VT_VEC_INLINE I ShiftRightSigned(I a) {
    return EachI([&](int i) {
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(a.lane[i]) >> kCount);
    });
  }

 private:
  template <class Fn>
  VT_VEC_INLINE F Each(Fn fn) {
    F r;
    for (int i = 0; i < kLanes; ++i) r.lane[i] = fn(i);
    return r;
  }
  template <class Fn>
  VT_VEC_INLINE I EachI(Fn fn) {
    I r;
    for (int i = 0; i < kLanes; ++i) r.lane[i] = fn(i);
    return r;
  }
};

}  // namespace
}  // namespace vt
