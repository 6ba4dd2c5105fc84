// Bodies of the pointwise ops, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/vec_math.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

template <class V>
void Activate(const ActivateArgs& args, Part part) {
  using F = typename V::F;
  const Range items = Share(args.count, part, kLanes);
  const float* x = args.x + items.begin;
  float* out = args.out + items.begin;
  const auto apply = [&](auto function) {
    ForVectors(items.end - items.begin,
               [&](std::int64_t i, int n) { StoreN<V>(out + i, function(LoadN<V>(x + i, n)), n); });
  };
  switch (args.act) {
    case Activation::kSilu:
      return apply([](F v) { return Silu<V>(v); });
    case Activation::kGelu:
      return apply([](F v) { return Gelu<V>(v); });
    case Activation::kRelu:
      return apply([](F v) { return V::Max(V::Splat(0.0f), v); });
    case Activation::kReluSquared:
      return apply([](F v) {
        const F positive = V::Max(V::Splat(0.0f), v);
        return V::Mul(positive, positive);
      });
  }
}

template <class V, class Args, class Fn>
VT_VEC_INLINE void Gated(const Args& args, Part part, Fn function) {
  const Range items = Share(args.count, part, kLanes);
  const float* gate = args.gate + items.begin;
  const float* up = args.up + items.begin;
  float* out = args.out + items.begin;
  ForVectors(items.end - items.begin, [&](std::int64_t i, int n) {
    StoreN<V>(out + i, V::Mul(function(LoadN<V>(gate + i, n)), LoadN<V>(up + i, n)), n);
  });
}

template <class V>
void SiluMul(const SiluMulArgs& args, Part part) {
  Gated<V>(args, part, [](typename V::F x) { return Silu<V>(x); });
}

template <class V>
void GeluMul(const GeluMulArgs& args, Part part) {
  Gated<V>(args, part, [](typename V::F x) { return Gelu<V>(x); });
}

template <class V>
void Mul(const MulArgs& args, Part part) {
  using F = typename V::F;
  const Range items = Share(args.rows * args.cols, part, kLanes);
  if (args.b_cols == args.cols) {
    ForVectors(items.end - items.begin, [&](std::int64_t i, int n) {
      const std::int64_t at = items.begin + i;
      StoreN<V>(args.out + at, V::Mul(LoadN<V>(args.a + at, n), LoadN<V>(args.b + at, n)), n);
    });
    return;
  }
  for (std::int64_t at = items.begin; at < items.end;) {
    const std::int64_t row = at / args.cols;
    const std::int64_t row_end = (row + 1) * args.cols;
    const std::int64_t end = row_end < items.end ? row_end : items.end;
    const F b = V::Splat(args.b[row]);
    ForVectors(end - at, [&](std::int64_t i, int n) {
      StoreN<V>(args.out + at + i, V::Mul(LoadN<V>(args.a + at + i, n), b), n);
    });
    at = end;
  }
}

template <class V>
void Add(const AddArgs& args, Part part) {
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

}  // namespace
}  // namespace vt
